// SPDX-License-Identifier: Apache-2.0
//
// Text that goes into SVG and HTML, and the file it ends in. Pure functions but for write_text_file; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hocket::jobs::co2 {

// The text with the five characters that mark-up gives a meaning replaced by entities, safe in content and in
// quoted attributes. What XML cannot hold (control characters, bytes that are not UTF-8) becomes U+FFFD.
std::string escape_markup(std::string_view text);

// A number for people: `digits` significant digits, thousands kept whole, a minus sign, no trailing noise.
std::string significant(double number, int digits);

// About `count` round positions (1, 2 or 5 times a power of ten apart) within [low, high], and their common
// number of decimals. Empty where the range is empty or not finite.
struct Ticks {
  std::vector<double> positions;
  int decimals = 0;
};
Ticks round_ticks(double low, double high, int count);

// Writes the whole file or throws FileError that names it and says why (no such folder, no room, ...); a file
// that was begun is then incomplete.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace hocket::jobs::co2
