// SPDX-License-Identifier: Apache-2.0
#include "engine/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hocket::engine {

std::atomic<bool> light_fences_are_full{true};

void prepare_asymmetric_fences() noexcept {
#ifndef HOCKET_FULL_FENCES
  static const bool registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (registered) light_fences_are_full.store(false, std::memory_order_seq_cst);
#endif
}

#ifdef HOCKET_FULL_FENCES
std::atomic<unsigned> fence_line{0};
#else
void heavy_fence() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!light_fences_are_full.load(std::memory_order_relaxed))
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
#endif

}  // namespace hocket::engine
