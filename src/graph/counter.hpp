// SPDX-License-Identifier: Apache-2.0
/// A counter that one thread changes and any thread reads: no atomic read-modify-write, no shared line.
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket::graph {

class Counter {
 public:
  void add(std::int64_t more) noexcept {
    // Release: a reader that sees the new value also sees what was done before.
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  std::int64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::int64_t> value_{0};
};

}  // namespace hocket::graph
