// SPDX-License-Identifier: Apache-2.0
/// A pair of memory fences of which one is nearly free. Two threads that each write something and then look at what the
/// other writes need a full fence in between, or both may miss the other. Here the thread that does it often takes
/// `light_fence`, which only keeps the compiler in order, and the one that does it seldom takes `heavy_fence`, which
/// makes every running thread of the process pass a full fence (Linux: membarrier(2), private expedited).
///
/// Where the kernel has no such call, and under ThreadSanitizer, which does not understand it, both are full fences.
#pragma once

#include <atomic>

#if defined(__SANITIZE_THREAD__)
#define HOCKET_FULL_FENCES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOCKET_FULL_FENCES 1
#endif
#endif

namespace hocket::engine {

/// Whether the light fence must be a full one: until `prepare_asymmetric_fences` finds that it need not. A thread that
/// does not know yet takes the full one, which is right as well.
extern std::atomic<bool> light_fences_are_full;

/// Asks the kernel for what `heavy_fence` needs. Idempotent; before the first fence of either kind.
void prepare_asymmetric_fences() noexcept;

#ifdef HOCKET_FULL_FENCES
/// ThreadSanitizer sees read-modify-write operations, not fences.
extern std::atomic<unsigned> fence_line;
inline void light_fence() noexcept { fence_line.fetch_add(1, std::memory_order_seq_cst); }
inline void heavy_fence() noexcept { fence_line.fetch_add(1, std::memory_order_seq_cst); }
#else
inline void light_fence() noexcept {
  if (light_fences_are_full.load(std::memory_order_relaxed)) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
  else
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
void heavy_fence() noexcept;
#endif

}  // namespace hocket::engine
