// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "co2/data.hpp"
#include "co2/series.hpp"

namespace hocket::jobs::co2 {
namespace {

TEST(Co2Record, HoldsTheWeeksFrom1958To2001WithTheirGaps) {
  const Series series = parse_series(co2_weekly_csv(), "record");
  EXPECT_EQ(series.rows, 2284U);
  EXPECT_EQ(series.gaps, 59U);
  EXPECT_EQ(series.size(), 2225U);
  EXPECT_EQ(series.duplicates, 0U);
  EXPECT_TRUE(series.was_sorted);
  EXPECT_EQ(iso_date(series.years.front()), "1958-03-29");
  EXPECT_EQ(iso_date(series.years.back()), "2001-12-29");
  EXPECT_DOUBLE_EQ(series.values.front(), 316.1);
  EXPECT_DOUBLE_EQ(series.values.back(), 371.5);
}

TEST(Co2Record, NamesItsSource) {
  EXPECT_NE(std::string(co2_weekly_csv()).find("Keeling"), std::string::npos);
}

}  // namespace
}  // namespace hocket::jobs::co2
