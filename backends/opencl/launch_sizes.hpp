// SPDX-License-Identifier: Apache-2.0
/// The sizes that a launch is given, out of the range that a variant asks for.
#pragma once

#include <array>
#include <cstddef>
#include <hocket/opencl.hpp>
#include <string_view>

namespace hocket::opencl_backend {

/// What is known of the kernel and the device.
struct GroupLimits {
  std::size_t largest_group = 1;                       ///< Most work items in a group.
  std::array<std::size_t, 3> required_group{0, 0, 0};  ///< Zeros where the kernel requires none.
  bool compiles_per_group_size = false;                ///< The driver compiles a kernel for each local size.
};

struct LaunchSizes {
  unsigned dimensions = 1;
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{1, 1, 1};
  bool driver_chooses_local = true;

  bool empty() const noexcept { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
};

/// Rounds the global sizes up to the local ones. Where the local sizes are left open: those that the kernel
/// requires; else, where each local size costs a compilation, the largest divisor up to 64 of global size 0
/// (if at least 8), so that data of many sizes need few compilations and no work item is added; else the
/// driver's choice. Throws `InvalidArgument` for ranges that no launch can have; `kernel` is for the message.
LaunchSizes launch_sizes(const NdRange& range, const GroupLimits& limits, std::string_view kernel);

}  // namespace hocket::opencl_backend
