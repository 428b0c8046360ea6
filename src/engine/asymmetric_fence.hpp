// SPDX-License-Identifier: Apache-2.0
/// A pair of fences for two threads of which one is always in a hurry and the other hardly ever comes by: the hurried
/// one pays nothing, the rare one pays for both, by having the kernel put a full fence on every processor that
/// runs a thread of this process (membarrier(2)).
///
///   hurried:  publish(work);   light_fence();   if (events.has_waiters()) events.notify_one();
///   rare:     events.prepare(); heavy_fence();  if (!work_published()) events.wait(ticket);
///
/// Of the two threads at least one sees what the other wrote before its fence, as with two full fences.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "engine/std_atomics.hpp"

namespace hocket::engine {

namespace fences {
/// Whether heavy fences are the kernel's. Turns true at most once and never false again. A light fence that reads
/// it as false is a full one, which is right beside either kind of heavy fence; one that reads it as true comes
/// after the registration, and `heavy_fence` never runs before that is over.
inline std::atomic<bool> kernel_fences{false};
}  // namespace fences

/// Registers the process with the kernel, once; says whether the kernel does the heavy fences. Thread-safe. Call it
/// before the first `light_fence` that shall be cheap: until then, and for good where the kernel refuses, light
/// fences are full ones. (The order is one of cost only: fences on either side of the first call still pair.)
inline bool prepare_asymmetric_fences() noexcept {
  if (kUnderThreadSanitizer) return false;  // which knows nothing of the kernel's fences
  static const bool kernel = [] {
    const long offered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (offered < 0 || (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return false;
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return false;
    fences::kernel_fences.store(true, std::memory_order_release);
    return true;
  }();
  return kernel;
}

/// The hurried side: a load of a constant flag, and nothing for the processor where the kernel does the heavy fences.
inline void light_fence() noexcept {
  if (fences::kernel_fences.load(std::memory_order_relaxed)) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler must not move accesses across either
  else
    full_fence();
}

/// The rare side: a system call of a microsecond or more, which also interrupts the other processors of the process.
inline void heavy_fence() noexcept {
  if (!prepare_asymmetric_fences()) {
    full_fence();
    return;
  }
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    // Only a system-call filter installed later can do this. Light fences have relied on the kernel: to go on would
    // be to lose a wake-up now and then.
    std::perror("hocket: the kernel withdrew membarrier, which it had granted to this process");
    std::abort();
  }
}

}  // namespace hocket::engine
