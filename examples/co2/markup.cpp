// SPDX-License-Identifier: Apache-2.0
#include "co2/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <hocket/error.hpp>
#include <system_error>

namespace hocket::jobs::co2 {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length of the UTF-8 sequence at the start of `text`, or 0 where there is none that XML may hold.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return lead >= 0x20 || lead == '\n' || lead == '\t' ? 1 : 0;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  std::uint32_t point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80U) return 0;
    point = (point << 6U) | (next & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  const bool unusable = point == 0xFFFE || point == 0xFFFF || point > 0x10FFFF;
  return point < kSmallest[length] || surrogate || unusable ? 0 : length;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      escaped += kReplacement;
    } else if (text.front() == '&') {
      escaped += "&amp;";
    } else if (text.front() == '<') {
      escaped += "&lt;";
    } else if (text.front() == '>') {
      escaped += "&gt;";
    } else if (text.front() == '"') {
      escaped += "&quot;";
    } else if (text.front() == '\'') {
      escaped += "&#39;";
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return escaped;
}

std::string significant(double number, int digits) {
  if (!std::isfinite(number)) return "n/a";
  if (number == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(number))));
  if (magnitude > 9 || magnitude < -5) return fmt::format("{:.{}e}", number, digits - 1);
  return fmt::format("{:.{}f}", number, std::max(digits - 1 - magnitude, 0));
}

Ticks round_ticks(double low, double high, int count) {
  Ticks ticks;
  if (!(high > low) || !std::isfinite(high - low)) return ticks;
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double factor = raw / power;
  const double step = power * (factor <= 1.0 ? 1.0 : factor <= 2.0 ? 2.0 : factor <= 5.0 ? 5.0 : 10.0);
  ticks.decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 12);
  const double first = std::ceil(low / step - 1e-9);
  // Bounded: for a range far smaller than its distance from zero the additions would not move.
  for (int i = 0; i <= 2 * count + 2; ++i) {
    const double position = (first + i) * step;
    if (position > high + 1e-9 * step) break;
    ticks.positions.push_back(position == 0 ? 0.0 : position);
  }
  return ticks;
}

void write_text_file(const std::string& path, std::string_view text) {
  const auto fail = [&](int error) {
    throw FileError(fmt::format("cannot write {}: {}; free some room or name another file", path,
                                std::generic_category().message(error)));
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(errno);
  // The error of the first call that failed is the one to report; the file is closed in any case.
  int error = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fflush(file) != 0 && error == 0) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error != 0) fail(error);
}

}  // namespace hocket::jobs::co2
