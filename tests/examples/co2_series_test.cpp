// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <hocket/error.hpp>
#include <string>

#include "co2/series.hpp"

namespace hocket::jobs::co2 {
namespace {

// Enough rows for the parser to accept what a test adds to them; a row a month from 2000 on.
std::string rows(int count = 24) {
  std::string csv;
  for (int i = 0; i < count; ++i)
    csv += std::to_string(2000.0 + i / 12.0) + "," + std::to_string(300 + i) + "\n";
  return csv;
}

std::string message_of(const std::string& csv) {
  try {
    parse_series(csv, "user.csv");
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(Co2Series, ReadsTheThreeSpellingsOfATime) {
  const Series series = parse_series(rows() + "1999-07-02,1\n19990702,3\n1998-01,5\n1997.25,7\n", "t");
  EXPECT_DOUBLE_EQ(series.years[0], 1997.25);
  EXPECT_DOUBLE_EQ(series.years[1], 1998 + 15.5 / 365);
  EXPECT_DOUBLE_EQ(series.years[2], 1999 + 182.0 / 365);
  EXPECT_DOUBLE_EQ(series.values[2], 2.0);
}

TEST(Co2Series, SkipsByteOrderMarkCommentsBlankLinesAndOneHeader) {
  const Series series =
      parse_series("\xEF\xBB\xBF# note\r\n\r\n  \t\r\ndate,ppm\r\n1999-01-01,5\r\n" + rows(), "t");
  EXPECT_EQ(series.size(), 25U);
  EXPECT_DOUBLE_EQ(series.years.front(), 1999.0);
  EXPECT_DOUBLE_EQ(series.values.front(), 5.0);
}

TEST(Co2Series, DropsAndCountsGaps) {
  const Series series = parse_series(rows() + "2010,\n2011,NaN\n2012,nan\n2013,NA\n2014, \n", "t");
  EXPECT_EQ(series.size(), 24U);
  EXPECT_EQ(series.gaps, 5U);
  EXPECT_EQ(series.rows, 29U);
}

TEST(Co2Series, TakesAGapInTheFirstRowForAGapAndNotForAHeader) {
  EXPECT_EQ(parse_series("1999-05-01,\n" + rows(), "t").gaps, 1U);
}

TEST(Co2Series, SortsRowsAndSaysSo) {
  const Series series = parse_series(rows() + "1990,1\n1985,2\n", "t");
  EXPECT_FALSE(series.was_sorted);
  EXPECT_DOUBLE_EQ(series.years[0], 1985);
  EXPECT_DOUBLE_EQ(series.years[1], 1990);
  EXPECT_DOUBLE_EQ(series.values[0], 2);
  EXPECT_TRUE(parse_series(rows(), "t").was_sorted);
}

TEST(Co2Series, AveragesRowsOfTheSameTime) {
  const Series series = parse_series(rows() + "2020,1\n2020,2\n2020.0,6\n", "t");
  EXPECT_EQ(series.size(), 25U);
  EXPECT_EQ(series.duplicates, 2U);
  EXPECT_DOUBLE_EQ(series.values.back(), 3.0);
}

TEST(Co2Series, AcceptsSemicolonsTabsQuotesAndSigns) {
  const Series series = parse_series(rows() + "1990;+1.5\n1991\t-2e1\n\"1992-01-01\",\"3\"\n", "t");
  EXPECT_DOUBLE_EQ(series.values[0], 1.5);
  EXPECT_DOUBLE_EQ(series.values[1], -20);
  EXPECT_DOUBLE_EQ(series.values[2], 3);
}

TEST(Co2Series, NamesBadLinesByFileNumberAndContent) {
  const std::string message =
      message_of("date,ppm\n" + rows(3) + "2003-02-30,1\n2004,many\n2005,1,2\nsoon,3\n2006\n");
  EXPECT_NE(message.find("user.csv:5: \"2003-02-30,1\""), message.npos) << message;
  EXPECT_NE(message.find("user.csv:6: \"2004,many\": the value is no finite number"), message.npos)
      << message;
  EXPECT_NE(message.find("user.csv:7: \"2005,1,2\": 3 columns"), message.npos) << message;
  EXPECT_NE(message.find("user.csv:8: \"soon,3\": the time"), message.npos) << message;
  EXPECT_NE(message.find("user.csv:9: \"2006\": 1 columns"), message.npos) << message;
}

TEST(Co2Series, ListsTheFirstBadLinesAndCountsTheOthers) {
  std::string csv = rows();
  for (int i = 0; i < 100; ++i) csv += "2001,bad\n";
  const std::string message = message_of(csv);
  EXPECT_NE(message.find("user.csv:29:"), message.npos) << message;
  EXPECT_EQ(message.find("user.csv:30:"), message.npos) << message;
  EXPECT_NE(message.find("and 95 more such line(s)"), message.npos) << message;
  EXPECT_EQ(message.find("and 94 more"), message.npos) << message;
}

TEST(Co2Series, RejectsInfinityAndTimesThatAreNoYears) {
  EXPECT_NE(message_of(rows() + "2001.5,inf\n"), "");
  EXPECT_NE(message_of(rows() + "inf,1\n"), "");
  EXPECT_NE(message_of(rows() + "1700000000,1\n"), "");
  EXPECT_NE(message_of(rows() + "20011301,1\n"), "");
  EXPECT_NE(message_of(rows() + ",1\n"), "");
}

TEST(Co2Series, ShowsBinaryContentWithoutControlCharacters) {
  const std::string message =
      message_of(rows() + std::string("\x1b[31m\0,\x07", 8) + std::string(500, 'x') + "\n");
  EXPECT_EQ(message.find('\x1b'), message.npos);
  EXPECT_NE(message.find("?[31m?,?x"), message.npos) << message;
  EXPECT_LT(message.size(), 300U);
}

TEST(Co2Series, RefusesTooFewPointsAndSaysWhereTheyWent) {
  const std::string message = message_of(rows(11) + "2005,\n2000,7\n");
  EXPECT_NE(
      message.find("user.csv has 11 usable point(s) (13 row(s), 1 without a value, 1 of a repeated time)"),
      message.npos)
      << message;
  EXPECT_NE(message_of(""), "");
  EXPECT_EQ(parse_series(rows(12), "t").size(), kMinimumPoints);
}

TEST(Co2Series, NamesAFileThatCannotBeRead) {
  for (const std::string path : {"/no/such/folder/data.csv", "/"}) {
    try {
      read_series(path);
      ADD_FAILURE() << path << " was read";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("cannot read " + path), std::string::npos) << error.what();
    }
  }
}

TEST(Co2Series, ReadsAFile) {
  const std::string path = testing::TempDir() + "co2_series_test.csv";
  std::ofstream(path) << "year,value\n" << rows();
  const Series series = read_series(path);
  std::remove(path.c_str());
  EXPECT_EQ(series.size(), 24U);
  EXPECT_EQ(series.source, path);
}

TEST(Co2Series, TurnsDatesIntoYearsAndBack) {
  EXPECT_DOUBLE_EQ(decimal_year(2000, 1, 1), 2000.0);
  EXPECT_DOUBLE_EQ(decimal_year(2000, 3, 1), 2000 + 60.0 / 366);
  EXPECT_DOUBLE_EQ(decimal_year(1900, 3, 1), 1900 + 59.0 / 365);
  EXPECT_EQ(iso_date(2011.9999999999), "2012-01-01");
  for (const int year : {1958, 1999, 2000, 2001, 2100}) {
    EXPECT_EQ(iso_date(decimal_year(year, 2, 28)), std::to_string(year) + "-02-28");
    EXPECT_EQ(iso_date(decimal_year(year, 12, 31)), std::to_string(year) + "-12-31");
    EXPECT_EQ(iso_date(decimal_year(year, 1, 1)), std::to_string(year) + "-01-01");
  }
}

}  // namespace
}  // namespace hocket::jobs::co2
