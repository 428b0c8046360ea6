// SPDX-License-Identifier: Apache-2.0
#include "opencl/launch_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace hocket::opencl_backend {
namespace {

constexpr std::size_t kLargestChosenGroup = 64;
constexpr std::size_t kSmallestChosenGroup = 8;

std::size_t largest_divisor(std::size_t number, std::size_t limit) {
  for (std::size_t divisor = std::min(number, limit); divisor > 1; --divisor)
    if (number % divisor == 0) return divisor;
  return 1;
}

}  // namespace

LaunchSizes launch_sizes(const NdRange& range, const GroupLimits& limits, std::string_view kernel) {
  if (range.dimensions < 1 || range.dimensions > 3)
    throw InvalidArgument(fmt::format(
        "The range of OpenCL kernel '{}' has {} dimensions; it must have 1 to 3", kernel, range.dimensions));
  LaunchSizes sizes;
  sizes.dimensions = range.dimensions;
  std::copy_n(range.global.begin(), range.dimensions, sizes.global.begin());
  if (sizes.empty()) return sizes;

  std::array<std::size_t, 3> local{1, 1, 1};
  std::copy_n(range.local.begin(), range.dimensions, local.begin());
  const auto open = std::count(local.begin(), local.begin() + range.dimensions, std::size_t{0});
  if (open != 0 && open != static_cast<std::ptrdiff_t>(range.dimensions))
    throw InvalidArgument(
        fmt::format("The range of OpenCL kernel '{}' has local sizes {} x {} x {}: give all that are used, "
                    "or leave all at 0",
                    kernel, range.local[0], range.local[1], range.local[2]));
  if (open != 0) {
    local = {1, 1, 1};
    if (limits.required_group[0] != 0) {
      local = limits.required_group;
    } else {
      if (!limits.compiles_per_group_size) return sizes;
      local[0] = largest_divisor(sizes.global[0], std::min(kLargestChosenGroup, limits.largest_group));
      if (local[0] < kSmallestChosenGroup) return sizes;
    }
  }

  std::size_t group = 1;
  for (std::size_t d = 0; d < range.dimensions; ++d) {
    if (local[d] > limits.largest_group / group)
      throw InvalidArgument(
          fmt::format("The range of OpenCL kernel '{}' has local sizes {} x {} x {}, but its groups can have "
                      "at most {} work "
                      "items on this device",
                      kernel, local[0], local[1], local[2], limits.largest_group));
    group *= local[d];
    const std::size_t beyond = sizes.global[d] % local[d];
    if (beyond == 0) continue;
    if (sizes.global[d] > std::numeric_limits<std::size_t>::max() - (local[d] - beyond))
      throw InvalidArgument(fmt::format("The range of OpenCL kernel '{}' is too large", kernel));
    sizes.global[d] += local[d] - beyond;
  }
  sizes.local = local;
  sizes.driver_chooses_local = false;
  return sizes;
}

}  // namespace hocket::opencl_backend
