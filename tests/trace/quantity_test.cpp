// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people and other programs get to see them.
#include "trace/quantity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trace/escape.hpp"

namespace hocket::trace {
namespace {

TEST(Quantity, HasThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(format_seconds(Seconds{0.0}), "0 s");
  EXPECT_EQ(format_seconds(Seconds{1.5e-9}), "1.50 ns");
  EXPECT_EQ(format_seconds(Seconds{12.34e-6}), "12.3 µs");
  EXPECT_EQ(format_seconds(Seconds{0.999}), "999 ms");
  EXPECT_EQ(format_seconds(Seconds{12345.0}), "12345 s");
  EXPECT_EQ(format_bytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(format_bytes(kMiB * 3), "3.00 MiB");
  EXPECT_EQ(format_bytes(Bytes{std::numeric_limits<std::uint64_t>::max()}), "16.0 EiB");
  EXPECT_EQ(format_rate(25e9), "25.0 GB/s");
  EXPECT_EQ(format_flops(1.25e12), "1.25 TFLOP/s");
  EXPECT_EQ(format_share(0.1234), "12.3 %");
}

TEST(Quantity, NeverRoundsUpToAThousandOfAUnit) {
  EXPECT_EQ(format_seconds(Seconds{0.99996}), "1.00 s");
  EXPECT_EQ(format_seconds(Seconds{9.9999e-3}), "10.0 ms");
  EXPECT_EQ(format_bytes(Bytes{1024 * 1024 - 1}), "1.00 MiB");
}

TEST(Quantity, GroupsTheDigitsOfCounts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

TEST(Quantity, ShowsADashForWhatIsNoNumber) {
  EXPECT_EQ(format_share(std::nan("")), "–");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity()), "–");
}

TEST(Escape, KeepsWellFormedTextAndReplacesTheRest) {
  EXPECT_EQ(escape_markup("größer → 𝛼"), "größer → 𝛼");
  EXPECT_EQ(escape_markup("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escape_markup(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(escape_markup("\xC0\xAF"), replaced + replaced) << "an overlong form";
  EXPECT_EQ(escape_markup("\xED\xA0\x80"), replaced + replaced + replaced) << "half of a surrogate pair";
  EXPECT_EQ(escape_markup("\xF4\x90\x80\x80x"), replaced + replaced + replaced + replaced + "x")
      << "too large";
  EXPECT_EQ(escape_markup("end\xE2\x82"), "end" + replaced + replaced) << "cut off";
}

TEST(Escape, QuotesCsvFieldsOnlyWhereNeeded) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(""), "");
}

}  // namespace
}  // namespace hocket::trace
