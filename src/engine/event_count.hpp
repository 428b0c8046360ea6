// SPDX-License-Identifier: Apache-2.0
/// Parking without lost wake-ups: a thread announces that it is about to sleep, looks for work once more, and
/// sleeps only if nothing was announced meanwhile.
///
///   const auto ticket = events.prepare();
///   if (found_work()) events.cancel(); else events.wait(ticket);
///
/// A notifier changes the condition first, then calls `notify_one` or `notify_all`. Between the two something must
/// keep the change before the notification's look at the waiters, or a thread may go to sleep beside its work. Any
/// one of these does:
///
/// - the condition is changed and checked under a common lock;
/// - it is changed by a sequentially consistent store and checked by such a load;
/// - the notifier calls `full_fence()` (std_atomics.hpp) between the change and the notification;
/// - it calls `light_fence()` there, and the waiter `heavy_fence()` between `prepare` and its check
///   (asymmetric_fence.hpp).
///
/// `prepare` itself contains the waiter's full fence. Then either the waiter's check sees the change, or the notifier
/// sees the waiter.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <hocket/types.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "engine/std_atomics.hpp"

namespace hocket::engine {

/// Thread-safe. Each `prepare` is followed by exactly one of `cancel`, `wait` and `wait_for` of the same thread.
/// Waits may also end for no reason, so callers loop over their condition. To lose a wake-up by number, 2^32
/// notifications would have to come between a thread's `prepare` and its sleep.
template <class Atomics = StdAtomics>
class BasicEventCount {
 public:
  BasicEventCount() = default;
  BasicEventCount(const BasicEventCount&) = delete;
  BasicEventCount& operator=(const BasicEventCount&) = delete;

  /// Announces the calling thread as a waiter; the ticket stands for the notifications so far.
  std::uint64_t prepare() noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    // Acquire: what was changed before a notification that the ticket includes is seen by the check that follows.
    const std::uint32_t ticket = epoch_.load(std::memory_order_acquire);
    // The announcement is before the check of the condition; pairs with the notifier's fence.
    Atomics::fence();
    return ticket;
  }
  void cancel() noexcept { waiters_.fetch_sub(1, std::memory_order_relaxed); }

  /// Sleeps until a notification after `prepare`.
  void wait(std::uint64_t ticket) noexcept(kSleepIsNoexcept) { sleep(ticket, std::nullopt); }
  /// The same, but at most about that long. False when that time has passed without a notification.
  bool wait_for(std::uint64_t ticket, Seconds limit) noexcept(kSleepIsNoexcept) {
    return sleep(ticket, after(limit));
  }

  /// Whether a thread has announced itself and neither cancelled nor finished its wait. One load.
  bool has_waiters() const noexcept { return waiters_.load(std::memory_order_seq_cst) != 0; }

  /// Wakes a sleeping thread, and keeps all threads that have announced themselves from falling asleep before they
  /// check once more. One load when there is no waiter. Whether a sleeping thread was woken, whose wait then returns:
  /// false also when all waiters are awake still, or again.
  bool notify_one() noexcept { return notify(1) > 0; }
  /// Wakes all sleeping threads; otherwise the same. How many were woken.
  int notify_all() noexcept { return notify(std::numeric_limits<int>::max()); }

 private:
  using Deadline = typename Atomics::Deadline;
  using Word = typename Atomics::template Atomic<std::uint32_t>;
  static constexpr bool kSleepIsNoexcept =
      noexcept(Atomics::sleep(std::declval<const Word&>(), 0, std::declval<std::optional<Deadline>>()));

  int notify(int most) noexcept {
    // After the change of the condition, by what the caller does about it. A waiter that this load does not count
    // sees the change in its check.
    if (!has_waiters()) return 0;
    // Before the wake-up: a waiter on its way to sleep either sees the new epoch or is asleep when the wake-up
    // comes, since the kernel compares the word and enqueues the thread in one step. Release: see `prepare`.
    epoch_.fetch_add(1, std::memory_order_acq_rel);
    return Atomics::wake(epoch_, most);
  }

  bool notified_since(std::uint64_t ticket) const noexcept {
    return epoch_.load(std::memory_order_acquire) != static_cast<std::uint32_t>(ticket);
  }

  /// Sleeps at most once: whoever is woken looks for work, even where the epoch was new to it already and the
  /// notification meant an earlier change. False when the deadline has passed without a notification.
  bool sleep(std::uint64_t ticket, std::optional<Deadline> deadline) noexcept(kSleepIsNoexcept) {
    const bool in_time =
        notified_since(ticket) || Atomics::sleep(epoch_, static_cast<std::uint32_t>(ticket), deadline);
    const bool notified = notified_since(ticket);  // also acquires what was changed before
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return in_time || notified;
  }

  /// That long after now; nothing where the clock cannot count so far.
  static std::optional<Deadline> after(Seconds limit) noexcept {
    constexpr double kLongest = 1e9;  // about 30 years
    if (!(limit.count < kLongest)) return std::nullopt;
    return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                  std::chrono::duration<double>(std::max(limit.count, 0.0)));
  }

  Word waiters_{0};
  /// Counts the notifications that found a waiter. Threads sleep on it.
  Word epoch_{0};
};

using EventCount = BasicEventCount<>;

}  // namespace hocket::engine
