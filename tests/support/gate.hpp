// SPDX-License-Identifier: Apache-2.0
/// Points at which tests hold tasks and threads, so that an order of events is certain rather than likely.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hocket::testing {

/// Closed until it is opened, once. Any threads.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  /// Sleeps until it is open.
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;  ///< Guards `open_`.
  std::condition_variable changed_;
  bool open_ = false;
};

/// Sleeps in small steps until the condition holds. A test that waits for what never comes is ended by its
/// watchdog.
inline void eventually(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

}  // namespace hocket::testing
