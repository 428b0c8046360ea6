// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <hocket/error.hpp>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "co2/markup.hpp"
#include "co2/picture.hpp"
#include "co2/report_page.hpp"

namespace hocket::jobs::co2 {
namespace {

// Why `xml` is not well-formed, or nothing: elements nest and close, attributes are quoted, "&" begins an
// entity.
std::string malformation(std::string_view xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::size_t end = xml.find(';', i);
      if (end == xml.npos || end - i > 6) return "a bare &";
    }
    if (xml[i] != '<') continue;
    const std::size_t end = xml.find('>', i);
    if (end == xml.npos) return "an open tag";
    std::string_view tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != tag.npos) return "< within a tag";
    int quotes = 0;
    for (const char c : tag) quotes += c == '"' ? 1 : 0;
    if (quotes % 2 != 0) return "an unfinished attribute";
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "</" + std::string(tag.substr(1)) + "> closes another";
      open.pop_back();
    } else if (tag.back() != '/') {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    i = end;
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

Picture small_picture() {
  Picture picture = {.title = "T",
                     .subtitle = "S",
                     .value_label = "V",
                     .years = {},
                     .values = {},
                     .fit = {},
                     .forecast = {}};
  for (int i = 0; i < 100; ++i) {
    picture.years.push_back(1990 + 0.1 * i);
    picture.values.push_back(std::sin(0.3 * i) + 0.01 * i);
    picture.fit.years.push_back(1990 + 0.1 * i);
    picture.fit.mean.push_back(0.01 * i);
    picture.fit.deviation.push_back(0.1);
    picture.forecast.years.push_back(2000 + 0.1 * i);
    picture.forecast.mean.push_back(1 + 0.01 * i);
    picture.forecast.deviation.push_back(0.1 + 0.01 * i);
  }
  return picture;
}

TEST(Co2Picture, IsWellFormedAndStandsAlone) {
  const std::string svg = draw_svg(small_picture());
  EXPECT_EQ(malformation(svg), "");
  EXPECT_EQ(svg.find("<script"), svg.npos);
  EXPECT_EQ(svg.find("href"), svg.npos);
  EXPECT_EQ(occurrences(svg, "http"), 1U) << "only the namespace may look like an address";
}

TEST(Co2Picture, ShowsDataFitForecastAndBandInBothPanels) {
  const std::string svg = draw_svg(small_picture());
  EXPECT_EQ(occurrences(svg, "<path class=\"co2-dots\""), 3U);  // and one in the legend
  EXPECT_EQ(occurrences(svg, "<path class=\"co2-fit\""), 3U);
  EXPECT_EQ(occurrences(svg, "<path class=\"co2-forecast\""), 3U);
  EXPECT_EQ(occurrences(svg, "<path class=\"co2-band\""), 2U);
  EXPECT_NE(svg.find(">2005<"), svg.npos);
}

TEST(Co2Picture, EscapesWhatTheUserNamed) {
  Picture picture = small_picture();
  picture.title = "a<b>&\"c'";
  picture.subtitle = "bell\x07 latin\xE9";
  picture.value_label = "]]></text>";
  const std::string svg = draw_svg(picture);
  EXPECT_EQ(malformation(svg), "");
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c&#39;"), svg.npos);
  EXPECT_EQ(svg.find('\x07'), svg.npos);
  EXPECT_EQ(svg.find('\xE9'), svg.npos);
}

TEST(Co2Picture, CopesWithoutForecastWithOnePointAndWithEqualValues) {
  Picture picture = small_picture();
  picture.fit = {};
  picture.forecast = {};
  EXPECT_EQ(malformation(draw_svg(picture)), "");
  EXPECT_EQ(draw_svg(picture).find("co2-band\""), std::string::npos);
  picture.years = {2000};
  picture.values = {5};
  const std::string svg = draw_svg(picture);
  EXPECT_EQ(malformation(svg), "");
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

TEST(Co2Picture, LeavesOutPointsThatAreNotFinite) {
  Picture picture = small_picture();
  picture.values[3] = std::nan("");
  picture.forecast.mean[4] = std::numeric_limits<double>::infinity();
  const std::string svg = draw_svg(picture);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

TEST(Co2Picture, StaysSmallForManyPoints) {
  Picture picture = small_picture();
  for (int i = 0; i < 200000; ++i) {
    picture.years.push_back(1990 + 5e-5 * i);
    picture.values.push_back(std::sin(1e-3 * i));
  }
  EXPECT_LT(draw_svg(picture).size(), 4000000U);
}

TEST(Co2Picture, RefusesListsOfDifferentLengths) {
  Picture picture = small_picture();
  picture.values.pop_back();
  EXPECT_THROW(draw_svg(picture), InvalidArgument);
  picture = small_picture();
  picture.forecast.deviation.pop_back();
  EXPECT_THROW(draw_svg(picture), InvalidArgument);
  EXPECT_THROW(draw_svg(Picture{}), InvalidArgument);
}

TEST(Co2Markup, PutsTicksOnRoundPositions) {
  const Ticks ticks = round_ticks(1958.2, 2011.9, 7);
  EXPECT_EQ(ticks.positions, (std::vector<double>{1960, 1970, 1980, 1990, 2000, 2010}));
  EXPECT_EQ(ticks.decimals, 0);
  EXPECT_EQ(round_ticks(-0.11, 0.12, 5).decimals, 2);
  EXPECT_TRUE(round_ticks(1, 1, 5).positions.empty());
  EXPECT_LE(round_ticks(1e15, 1e15 + 0.5, 5).positions.size(), 13U);
}

TEST(Co2Markup, WritesSignificantDigits) {
  EXPECT_EQ(significant(1234.56, 3), "1235");
  EXPECT_EQ(significant(0.012345, 3), "0.0123");
  EXPECT_EQ(significant(-2.5, 3), "-2.50");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(significant(1e20, 3), "1.00e+20");
  EXPECT_EQ(significant(std::nan(""), 3), "n/a");
}

TEST(Co2Markup, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(escape_markup("CO₂ → °"), "CO₂ → °");
  EXPECT_EQ(escape_markup("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong
  EXPECT_EQ(escape_markup("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // cut short
  EXPECT_EQ(escape_markup(std::string_view("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(Co2Markup, NamesTheFileThatCannotBeWritten) {
  const std::string much(1 << 20, 'x');
  for (const std::string path : {"/dev/full", "/no/such/folder/co2.svg"}) {
    if (path == "/dev/full" && !std::ifstream(path)) GTEST_SKIP() << "this system has no /dev/full";
    for (const std::string& text : {std::string("short"), much}) {
      try {
        write_text_file(path, text);
        ADD_FAILURE() << path << " was written";
      } catch (const FileError& error) {
        EXPECT_NE(std::string(error.what()).find("cannot write " + path), std::string::npos) << error.what();
      }
    }
  }
}

TEST(Co2Markup, WritesTheWholeFile) {
  const std::string path = testing::TempDir() + "co2_markup_test.txt";
  write_text_file(path, "first");
  write_text_file(path, "a\nb");
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "a\nb");
  std::remove(path.c_str());
}

ReportPage small_page() {
  return {.title = "<run>",
          .subtitle = "& more",
          .facts = {{"Tasks", "12"}},
          .svg = draw_svg(small_picture()),
          .tables = {{"Devices", "", {"Device", "busy"}, {{"cpu <0>", "1 s"}}}},
          .timeline = {{"cpu 0", "potrf(0,0)", 5.0, 5.5, "potrf"}, {"</script>", "tile", 5.25, 6.0, "copy"}}};
}

TEST(Co2ReportPage, FetchesNothingAndEscapesEverything) {
  const std::string html = draw_report_page(small_page());
  EXPECT_EQ(occurrences(html, "http"), 1U) << "only the namespace of the picture may look like an address";
  EXPECT_EQ(html.find("src="), html.npos);
  EXPECT_NE(html.find("&lt;run&gt;"), html.npos);
  EXPECT_NE(html.find("cpu &lt;0&gt;"), html.npos);
  EXPECT_EQ(occurrences(html, "<script"), occurrences(html, "</script>"));
  EXPECT_NE(html.find("\\u003c/script>"), html.npos);
}

TEST(Co2ReportPage, GivesTimesFromTheFirstBarOn) {
  const std::string html = draw_report_page(small_page());
  EXPECT_NE(html.find("\"bars\":[[0,0,0,0.0,0.5],[1,1,1,0.25,0.75]]"), html.npos);
  EXPECT_NE(html.find("\"end\":1.0"), html.npos);
}

TEST(Co2ReportPage, HasNoTimelineWithoutBars) {
  ReportPage page = small_page();
  page.timeline.clear();
  EXPECT_EQ(draw_report_page(page).find("<script"), std::string::npos);
}

TEST(Co2ReportPage, RefusesARowThatDoesNotFitItsTable) {
  ReportPage page = small_page();
  page.tables[0].rows.push_back({"only one"});
  EXPECT_THROW(draw_report_page(page), InvalidArgument);
}

}  // namespace
}  // namespace hocket::jobs::co2
