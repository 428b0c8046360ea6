// SPDX-License-Identifier: Apache-2.0
#include "trace/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace hocket::trace {
namespace {

constexpr const char* kNothing = "–";

// Three significant digits of a number below 1000. Above, whole.
std::string three_digits(double number) {
  const double size = std::abs(number);
  if (size < 9.995) return fmt::format("{:.2f}", number);
  if (size < 99.95) return fmt::format("{:.1f}", number);
  return fmt::format("{:.0f}", number);
}

// The number with the largest of the units, each `step` times the one before it, in which it is at least 1.
template <std::size_t Size>
std::string with_unit(double number, double step, const std::array<const char*, Size>& units) {
  if (!std::isfinite(number)) return kNothing;
  std::size_t unit = 0;
  // Rounded up it must not read as 1000 of a unit that has a larger one.
  while (unit + 1 < Size && std::abs(number) >= step * 0.9995) {
    number /= step;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(number), units[unit]);
}

}  // namespace

std::string format_seconds(Seconds time) {
  if (time.count == 0.0) return "0 s";
  return with_unit(time.count * 1e9, 1e3, std::array{"ns", "µs", "ms", "s"});
}

std::string format_bytes(Bytes size) {
  if (size.count < 1024) return fmt::format("{} B", size.count);
  return with_unit(static_cast<double>(size.count) / 1024.0, 1024.0,
                   std::array{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"});
}

std::string format_rate(double bytes_a_second) {
  return with_unit(bytes_a_second, 1e3, std::array{"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"});
}

std::string format_flops(double flops_a_second) {
  return with_unit(flops_a_second / 1e6, 1e3, std::array{"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"});
}

std::string format_count(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string format_share(double share) {
  if (!std::isfinite(share)) return kNothing;
  return fmt::format("{:.1f} %", share * 100.0);
}

}  // namespace hocket::trace
