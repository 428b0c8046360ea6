// SPDX-License-Identifier: Apache-2.0
/// The atomic operations that the queues and the parking are built from, as a parameter: the engine uses the standard
/// ones; tests use ones that a model checker schedules.
#pragma once

#include <atomic>

namespace hocket::engine {

struct StdAtomics {
  template <class T>
  using Atomic = std::atomic<T>;

  /// A sequentially consistent fence. ThreadSanitizer does not understand fences, but for it every access to the
  /// queues is sequentially consistent anyway (see `order`).
  static void fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
};

/// The memory order to use where `order` would do with fences. ThreadSanitizer knows no fences: under it everything is
/// sequentially consistent.
constexpr std::memory_order with_fences(std::memory_order order) noexcept {
#if defined(__SANITIZE_THREAD__)
  (void)order;
  return std::memory_order_seq_cst;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  (void)order;
  return std::memory_order_seq_cst;
#else
  return order;
#endif
#else
  return order;
#endif
}

}  // namespace hocket::engine
