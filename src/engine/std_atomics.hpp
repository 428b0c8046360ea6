// SPDX-License-Identifier: Apache-2.0
/// What the lock-free parts of the engine ask of the machine: atomic variables, a full fence, and sleeping on a
/// word. They take it as a template argument, so that tests can put in a machine that tries every interleaving.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>

namespace hocket::engine {

/// Data of different writers lies this far apart: twice a cache line, since processors fetch lines in pairs.
inline constexpr std::size_t kNoSharingBytes = 128;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kUnderThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

/// Keeps the accesses of the calling thread on both sides of it in order, a store before a later load included.
///
/// ThreadSanitizer takes part in the fence but draws no conclusion from it. Nothing here relies on one: what a
/// value points to is published by a release store and an acquire load, and fences decide only which thread gets
/// a value. So there is no false report, and, as a fence links no two threads for it, no true one is hidden.
inline void full_fence() noexcept {
#if defined(__x86_64__) && defined(__clang__)
  // As GCC does it. Clang's MFENCE also waits for what no ordinary access needs, and takes ten times as long.
  __asm__ __volatile__("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"  // a compiler may not know -Wtsan
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
}

/// The real machine.
struct StdAtomics {
  template <class T>
  using Atomic = std::atomic<T>;
  using Deadline = std::chrono::steady_clock::time_point;

  static void fence() noexcept { full_fence(); }

  /// Sleeps while `word` is `expected`, until `wake` or the deadline, if there is one. False when the deadline has
  /// passed. May return true early, for no reason.
  static bool sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                    std::optional<Deadline> deadline) noexcept {
    timespec until{};
    if (deadline) {
      // The steady clock is the one that the call below counts by (CLOCK_MONOTONIC).
      const auto since_start = std::max(deadline->time_since_epoch(), Deadline::duration::zero());
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_start);
      until.tv_sec = static_cast<std::time_t>(seconds.count());
      until.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since_start - seconds).count());
    }
    const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected,
                                  deadline ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    return !(result == -1 && errno == ETIMEDOUT);
  }

  /// Wakes up to `most` sleepers of that word; says how many. Never reads the word.
  static int wake(const std::atomic<std::uint32_t>& word, int most) noexcept {
    const long woken = ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
    return woken > 0 ? static_cast<int>(woken) : 0;
  }
};

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel sleeps on the bare word");

}  // namespace hocket::engine
