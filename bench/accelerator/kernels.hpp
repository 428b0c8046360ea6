// SPDX-License-Identifier: Apache-2.0
/// The codelet of the contenders that take one.
#pragma once

#include <hocket/hocket.hpp>
#include <hocket/opencl.hpp>
#include <hocket/pim.hpp>

#include "accelerator/contender.hpp"

namespace hocket::bench::accelerator {

inline const Codelet<void(View<int>)>& touch() {
  static const Codelet<void(View<int>)> codelet{
      "touch", opencl{kKernelSource, kKernelName}, pim([](dpu::Tasklet& tasklet, dpu::Mram<int> x) {
        auto buffer = tasklet.buffer<int>(kElements);
        dpu::for_each_block(tasklet, x.size(), kElements, [&](std::size_t first, std::size_t count) {
          int* const elements = buffer.load(x, first, count);
          for (std::size_t i = 0; i < count; ++i) elements[i] += 1;
          tasklet.charge<int>(dpu::Operation::Add, count);
          buffer.store(x, first, count);
        });
      })};
  return codelet;
}

/// One DPU and one OpenCL device: what is compared is the cost of a launch, not of the kernel.
inline const char* specification(const std::string& kind) { return kind == "pim" ? "1" : "0"; }

}  // namespace hocket::bench::accelerator
