// SPDX-License-Identifier: Apache-2.0
/// The processor's time stamp, for judgements on which nothing but speed depends.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace hocket::engine {

/// Between a quarter of a nanosecond and one nanosecond each.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace hocket::engine
