// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hocket/error.hpp>
#include <string_view>

namespace hocket::cost {
namespace {

double seconds_for(double amount, double per_second, std::string_view unit) {
  if (!std::isfinite(amount) || amount < 0.0) {
    throw InvalidArgument(
        fmt::format("a task declares {} {}: give a finite number, not below 0", amount, unit));
  }
  if (amount == 0.0) return 0.0;
  if (!(per_second > 0.0)) {
    throw InvalidArgument(fmt::format(
        "a task declares {} {}, but its device does {} {} per second: give the device a speed above 0",
        amount, unit, per_second, unit));
  }
  return amount / per_second;
}

}  // namespace

Seconds roofline_seconds(double flops, double bytes, double flops_per_second, double bytes_per_second) {
  return {
      std::max(seconds_for(flops, flops_per_second, "flops"), seconds_for(bytes, bytes_per_second, "bytes"))};
}

}  // namespace hocket::cost
