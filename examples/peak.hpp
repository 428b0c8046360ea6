// SPDX-License-Identifier: Apache-2.0
/// What the CPU cores can do at best, measured: the rate of large matrix products in OpenBLAS, which run near
/// the peak of the arithmetic units.
#pragma once

#include <cstddef>
#include <hocket/runtime.hpp>
#include <span>
#include <string>

namespace hocket::jobs {

struct Peak {
  double flops_per_second = 0.0;  ///< Of all threads together.
  std::size_t threads = 0;
  bool single_precision = false;
  std::string kernels;  ///< OpenBLAS's name for the kernels that it chose for this CPU: "SkylakeX".
};

/// Multiplies matrices on that many threads at once, for about a tenth of a second, and returns the best of a
/// few rounds. Sets OpenBLAS to one thread a call, for the whole process, as the bundled kernels do.
Peak measure_peak(std::size_t threads, bool single_precision = false);

/// The workers of the CPU devices; where there are none, the cores that the process may use: the machine's
/// peak is then still what a job's rate is compared with.
std::size_t peak_threads(std::span<const DeviceInfo> devices);

}  // namespace hocket::jobs
