// SPDX-License-Identifier: Apache-2.0
//
// Reads a time series from a two-column CSV: time, value.
//
//   time    a decimal year (1958.24), an ISO date (1958-03-29), a month (1958-03, its middle) or YYYYMMDD
//   (19580329) value   a number; an empty field, NaN or NA is a gap: the row is dropped and counted
//
// Columns are separated by a comma, or by a semicolon or a tab where the line holds no comma; fields may be
// quoted. Lines that are blank or start with '#' are skipped, one header line is, and lines may end in CRLF.
// Rows may come in any order: the result is sorted by time. Rows of the same time are averaged into one and
// counted, so that the times of the result are distinct (a covariance matrix of equal times would not be
// definite).
//
// Errors are hocket::FileError and name the source: a file that cannot be read; lines that are not rows (the
// first few are listed with their number and content); fewer than kMinimumPoints points. Functions here keep
// no state and may be called from any thread. Cost: O(n log n) in the number of rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::jobs::co2 {

// With fewer points than this a trend, a season and a noise level cannot be told apart.
inline constexpr std::size_t kMinimumPoints = 12;

struct Series {
  std::string source;         // where it came from, for messages and captions
  std::vector<double> years;  // strictly increasing decimal years
  std::vector<double> values;
  std::size_t rows = 0;        // data rows read, gaps and duplicates included
  std::size_t gaps = 0;        // rows without a value
  std::size_t duplicates = 0;  // rows merged into another one of the same time
  bool was_sorted = true;      // false where rows had to be reordered

  std::size_t size() const { return years.size(); }
};

// Parses CSV text; `source` is the name that messages show.
Series parse_series(std::string_view csv, const std::string& source);

// Reads and parses a file.
Series read_series(const std::string& path);

// The decimal year of the start of a day of the Gregorian calendar: 1 January is exactly the year.
double decimal_year(int year, int month, int day);

// The day that holds this decimal year, as YYYY-MM-DD.
std::string iso_date(double years);

}  // namespace hocket::jobs::co2
