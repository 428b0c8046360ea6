// SPDX-License-Identifier: Apache-2.0
/// A second thread that submits beside the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace hocket::bench {

/// The thread starts with the object and ends with it; in between it waits without using the processor.
class TwoSubmitters {
 public:
  TwoSubmitters() : second_([this] { serve(); }) {}
  TwoSubmitters(const TwoSubmitters&) = delete;
  TwoSubmitters& operator=(const TwoSubmitters&) = delete;
  ~TwoSubmitters() {
    submit_ = nullptr;
    start();
    second_.join();
  }

  /// Calls `submit(0)` here and `submit(1)` on the second thread at once; returns when both have.
  void run(const std::function<void(std::size_t)>& submit) {
    submit_ = &submit;
    const std::uint32_t done = done_.load(std::memory_order_relaxed);
    start();
    submit(0);
    done_.wait(done, std::memory_order_acquire);
  }

 private:
  void start() {
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_one();
  }
  void serve() {
    for (std::uint32_t turn = 0;; ++turn) {
      turn_.wait(turn, std::memory_order_acquire);
      if (submit_ == nullptr) return;
      (*submit_)(1);
      done_.fetch_add(1, std::memory_order_release);
      done_.notify_one();
    }
  }

  const std::function<void(std::size_t)>* submit_ = nullptr;  // handed over by turn_
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<std::uint32_t> done_{0};
  std::thread second_;
};

}  // namespace hocket::bench
