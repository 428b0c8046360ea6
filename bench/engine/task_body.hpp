// SPDX-License-Identifier: Apache-2.0
/// What the tasks do: the same in every runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/workload.hpp"

namespace hocket::bench {

enum class Body : std::uint8_t {
  Empty,  ///< Nothing; what the benchmarks time.
  Work,   ///< Computes for a set time.
  Stamp,  ///< Notes when it began and ended, to check the runtime.
  Count,  ///< Counts.
};

/// Whether the body must know which task it belongs to. Those that are timed need not, so that no runtime carries
/// an argument that others do without.
template <Body body>
inline constexpr bool kKnowsItsTask = body == Body::Stamp;

/// Computes in registers; the time is in proportion to the iterations.
void compute(std::uint64_t iterations) noexcept;
/// Iterations of `Body::Work`; set while no task runs.
inline std::uint64_t work_iterations = 0;

/// How many tasks have run with `Body::Count`.
inline std::atomic<std::size_t> counted{0};

/// Where `Body::Stamp` notes what happened. `reset` and `check` while no task runs.
class Stamps {
 public:
  void reset(std::size_t tasks);
  void stamp(std::size_t task) noexcept;
  /// Empty where each task ran `times` times, and its last time began after the last times of those it follows had
  /// ended; else what went wrong first.
  std::string check(const Workload& workload, std::size_t times) const;

 private:
  struct Stamp {
    std::atomic<std::uint32_t> runs{0};
    std::atomic<std::uint64_t> begin{0};
    std::atomic<std::uint64_t> end{0};
  };
  std::unique_ptr<Stamp[]> stamps_;
  std::size_t size_ = 0;
  std::atomic<std::uint64_t> clock_{0};
};
inline Stamps stamps;

template <Body body>
inline void execute([[maybe_unused]] std::size_t task) noexcept {
  if constexpr (body == Body::Empty) {
    asm volatile("");  // keeps compilers from leaving out tasks that do nothing
  } else if constexpr (body == Body::Work) {
    compute(work_iterations);
  } else if constexpr (body == Body::Stamp) {
    stamps.stamp(task);
  } else {
    counted.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace hocket::bench
