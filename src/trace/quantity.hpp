// SPDX-License-Identifier: Apache-2.0
/// Numbers for people: three significant digits and a unit. Pure functions; any thread; independent of the
/// locale. What is not finite becomes a dash.
#pragma once

#include <cstdint>
#include <hocket/types.hpp>
#include <string>

namespace hocket::trace {

std::string format_seconds(Seconds time);         ///< "1.25 ms"
std::string format_bytes(Bytes size);             ///< "4.00 MiB"
std::string format_rate(double bytes_a_second);   ///< "12.3 GB/s"
std::string format_count(std::uint64_t count);    ///< "12,345"
std::string format_share(double share);           ///< 0.123 is "12.3 %"
std::string format_flops(double flops_a_second);  ///< "1.25 TFLOP/s"

}  // namespace hocket::trace
