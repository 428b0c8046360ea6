// SPDX-License-Identifier: Apache-2.0
#include "co2/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <hocket/error.hpp>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace hocket::jobs::co2 {
namespace {

constexpr std::size_t kBadLinesListed = 5;
constexpr std::size_t kContentShown = 60;
constexpr double kLatestYear = 1e6;  // beyond it a number is not meant as a year (seconds since 1970, say)

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }
int days_in_year(int year) { return is_leap(year) ? 366 : 365; }

int days_in_month(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"')
    field = field.substr(1, field.size() - 2);
  return trimmed(field);
}

std::optional<double> parse_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

int to_int(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::optional<double> day_if_valid(int year, int month, int day) {
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return std::nullopt;
  return decimal_year(year, month, day);
}

std::optional<double> parse_time(std::string_view text) {
  if (text.size() == 8 && is_digits(text)) {
    return day_if_valid(to_int(text.substr(0, 4)), to_int(text.substr(4, 2)), to_int(text.substr(6, 2)));
  }
  if ((text.size() == 10 || text.size() == 7) && text[4] == '-' && is_digits(text.substr(0, 4)) &&
      is_digits(text.substr(5, 2))) {
    const int year = to_int(text.substr(0, 4));
    const int month = to_int(text.substr(5, 2));
    if (text.size() == 7) {
      if (month < 1 || month > 12) return std::nullopt;
      return decimal_year(year, month, 1) + 0.5 * days_in_month(year, month) / days_in_year(year);
    }
    if (text[7] != '-' || !is_digits(text.substr(8, 2))) return std::nullopt;
    return day_if_valid(year, month, to_int(text.substr(8, 2)));
  }
  const auto number = parse_number(text);
  return number && std::abs(*number) <= kLatestYear ? number : std::nullopt;
}

bool is_gap(std::string_view value) {
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.empty() || lower == "nan" || lower == "na";
}

std::vector<std::string_view> split(std::string_view line) {
  const char separator = line.find(',') != line.npos ? ',' : line.find(';') != line.npos ? ';' : '\t';
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    fields.push_back(unquoted(line.substr(begin, end == line.npos ? end : end - begin)));
    if (end == line.npos) return fields;
    begin = end + 1;
  }
}

// A line as a message may show it: cut short, with nothing in it that a terminal would act on.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, kContentShown));
  for (char& c : text) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return line.size() > kContentShown ? text + "..." : text;
}

struct Row {
  double years;
  double value;
};

class Parser {
 public:
  explicit Parser(const std::string& source) { series_.source = source; }

  Series parse(std::string_view csv) {
    if (csv.substr(0, 3) == "\xEF\xBB\xBF") csv.remove_prefix(3);  // byte-order mark
    std::size_t number = 0;
    while (!csv.empty()) {
      const std::size_t end = csv.find('\n');
      read_line(csv.substr(0, end), ++number);
      csv.remove_prefix(end == csv.npos ? csv.size() : end + 1);
    }
    if (bad_lines_ > 0) throw FileError(complaint_);
    return finish();
  }

 private:
  void read_line(std::string_view raw, std::size_t number) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') return;
    const bool may_be_header = !seen_content_;
    seen_content_ = true;
    const auto fields = split(line);
    const auto years = parse_time(fields.front());
    if (fields.size() != 2) {
      if (may_be_header && !years) return;
      return reject(number, line, fmt::format("{} columns, where 2 are expected", fields.size()));
    }
    const auto value = parse_number(fields.back());
    const bool gap = is_gap(fields.back());
    if (may_be_header && !years && !value && !gap) return;
    if (!years) {
      return reject(number, line,
                    "the time is no decimal year, YYYY-MM-DD, YYYY-MM or YYYYMMDD of the calendar");
    }
    if (!value && !gap) return reject(number, line, "the value is no finite number");
    ++series_.rows;
    if (gap) {
      ++series_.gaps;
    } else {
      rows_.push_back({*years, *value});
    }
  }

  void reject(std::size_t number, std::string_view line, std::string_view reason) {
    if (bad_lines_++ == 0)
      complaint_ = "cannot read " + series_.source + " as a two-column CSV (time,value):";
    if (bad_lines_ <= kBadLinesListed) {
      complaint_ += fmt::format("\n  {}:{}: \"{}\": {}", series_.source, number, shown(line), reason);
      return;
    }
    complaint_.resize(complaint_.size() - tail_size_);
    const std::string tail = fmt::format("\n  and {} more such line(s)", bad_lines_ - kBadLinesListed);
    tail_size_ = tail.size();
    complaint_ += tail;
  }

  Series finish() {
    const auto earlier = [](const Row& a, const Row& b) { return a.years < b.years; };
    series_.was_sorted = std::is_sorted(rows_.begin(), rows_.end(), earlier);
    std::stable_sort(rows_.begin(), rows_.end(), earlier);
    for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
      double sum = 0;
      for (end = begin; end < rows_.size() && rows_[end].years == rows_[begin].years; ++end)
        sum += rows_[end].value;
      series_.years.push_back(rows_[begin].years);
      series_.values.push_back(sum / static_cast<double>(end - begin));
      series_.duplicates += end - begin - 1;
    }
    if (series_.size() < kMinimumPoints) {
      throw FileError(fmt::format(
          "{} has {} usable point(s) ({} row(s), {} without a value, {} of a repeated time); at "
          "least {} are needed to fit a trend, a season and a noise level",
          series_.source, series_.size(), series_.rows, series_.gaps, series_.duplicates, kMinimumPoints));
    }
    return std::move(series_);
  }

  Series series_;
  std::vector<Row> rows_;
  bool seen_content_ = false;
  std::size_t bad_lines_ = 0;
  std::size_t tail_size_ = 0;
  std::string complaint_;
};

}  // namespace

Series parse_series(std::string_view csv, const std::string& source) { return Parser(source).parse(csv); }

Series read_series(const std::string& path) {
  const auto fail = [&](int error) {
    throw FileError(fmt::format("cannot read {}: {}; give a readable CSV file with the columns time,value",
                                path, std::generic_category().message(error)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail(errno);
  std::string text;
  char buffer[1 << 16];
  std::size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) text.append(buffer, got);
  if (std::ferror(file.get()) != 0) fail(errno);
  return parse_series(text, path);
}

double decimal_year(int year, int month, int day) {
  int day_of_year = day - 1;
  for (int m = 1; m < month; ++m) day_of_year += days_in_month(year, m);
  return year + static_cast<double>(day_of_year) / days_in_year(year);
}

std::string iso_date(double years) {
  int year = static_cast<int>(std::floor(years));
  // A hair is added so that a date survives the round trip through its decimal year.
  int day = static_cast<int>(std::floor((years - year) * days_in_year(year) + 1e-6)) + 1;
  if (day > days_in_year(year)) {
    day -= days_in_year(year);
    ++year;
  }
  int month = 1;
  for (; day > days_in_month(year, month); ++month) day -= days_in_month(year, month);
  return fmt::format("{:04}-{:02}-{:02}", year, month, day);
}

}  // namespace hocket::jobs::co2
