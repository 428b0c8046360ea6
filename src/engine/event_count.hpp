// SPDX-License-Identifier: Apache-2.0
/// Parking without lost wake-ups: a thread announces that it is about to sleep, looks for work once more, and
/// sleeps only if nothing was announced meanwhile.
///
///   const auto ticket = events.prepare();
///   if (found_work()) events.cancel(); else events.wait(ticket);
///
/// Correct as long as the condition is changed and checked under a common lock (or otherwise ordered): a notifier
/// changes it first, then calls `notify`; either the sleeper's check sees the change, or the notifier
/// sees the sleeper.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <hocket/types.hpp>
#include <mutex>

namespace hocket::engine {

class EventCount {
 public:
  std::uint64_t prepare() noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);  // pairs with the load in `notify`
    return epoch_.load(std::memory_order_seq_cst);
  }
  void cancel() noexcept { waiters_.fetch_sub(1, std::memory_order_relaxed); }

  /// Sleeps until a notification after `prepare`.
  void wait(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    wakeup_.wait(lock, [&] { return epoch_.load(std::memory_order_relaxed) != ticket; });
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// The same, but at most that long; returns whether there was a notification.
  bool wait_for(std::uint64_t ticket, Seconds limit) {
    std::unique_lock lock(mutex_);
    const bool notified = wakeup_.wait_for(lock, std::chrono::duration<double>(limit.count),
                                           [&] { return epoch_.load(std::memory_order_relaxed) != ticket; });
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return notified;
  }

  bool has_waiters() const noexcept { return waiters_.load(std::memory_order_seq_cst) != 0; }

  /// Returns whether somebody waited.
  bool notify_one() {
    if (!announce()) return false;
    wakeup_.notify_one();
    return true;
  }
  void notify_all() {
    if (!announce()) return;
    wakeup_.notify_all();
  }

 private:
  bool announce() {
    if (waiters_.load(std::memory_order_seq_cst) == 0) return false;
    const std::lock_guard lock(mutex_);
    epoch_.fetch_add(1,
                     std::memory_order_relaxed);  // under the lock: a sleeper is before its check or asleep
    return true;
  }

  std::atomic<std::uint32_t> waiters_{0};
  std::atomic<std::uint64_t> epoch_{0};
  std::mutex mutex_;
  std::condition_variable wakeup_;
};

}  // namespace hocket::engine
