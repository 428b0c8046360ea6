// SPDX-License-Identifier: Apache-2.0
// The page holds the totals, needs nothing from outside, and cannot be broken by names.
#include "trace/html.hpp"

#include <gtest/gtest.h>

#include <hocket/error.hpp>
#include <hocket/report.hpp>
#include <string>
#include <vector>

#include "trace/markup_reader.hpp"
#include "trace/sample.hpp"

namespace hocket::trace {
namespace {

using sample::count_of;
using sample::Element;
using sample::MarkupReader;

std::vector<std::string> texts_of(const std::string& page, const std::string& element) {
  std::vector<std::string> texts;
  for (const Element& found : MarkupReader(page).named(element)) texts.push_back(found.text);
  return texts;
}

TEST(Html, ShowsTheTotals) {
  EXPECT_EQ(texts_of(html_page(sample::small_report(), "Run"), "dd"),
            (std::vector<std::string>{"4.00 ms", "2", "1", "4", "2.00 GFLOP/s", "4.00 KiB"}));
}

TEST(Html, HasARowForEachDeviceAndEachLink) {
  const std::string page = html_page(sample::small_report(), "Run");
  const std::vector<std::string> cells = texts_of(page, "td");
  const std::vector<std::string> expected = {"cpu:0",
                                             "2",
                                             "1",
                                             "25.0 %",
                                             "4.00 ms",
                                             "50.0 %",
                                             "500 MFLOP/s",
                                             "–",
                                             "pim:0",
                                             "1",
                                             "1",
                                             "75.0 %",
                                             "2.00 ms",
                                             "50.0 %",
                                             "3.00 GFLOP/s",
                                             "250 ms",
                                             "host → pim:0",
                                             "1",
                                             "4.00 KiB",
                                             "1.00 ms",
                                             "4.10 MB/s",
                                             "host",
                                             "1",
                                             "512 B",
                                             "1.00 ms",
                                             "512 kB/s"};
  EXPECT_EQ(cells, expected);
  EXPECT_EQ(count_of(page, "not to be compared"), 1u) << "modelled time must not be taken for measured time";
}

TEST(Html, SharesWorkByBusyTimeWhereNoOperationsAreStated) {
  Report report = sample::small_report();
  report.flops = 0.0;
  for (DeviceReport& device : report.devices) device.flops = 0.0;
  const std::string page = html_page(report, "Run");
  EXPECT_EQ(count_of(page, "part of all busy time"), 1u);
  EXPECT_EQ(count_of(page, "66.7 %"), 1u);
  EXPECT_EQ(count_of(page, "not stated"), 1u);
  EXPECT_EQ(count_of(page, "FLOP/s"), 0u);
}

TEST(Html, ContainsTheGanttChart) {
  const Report report = sample::small_report();
  EXPECT_EQ(count_of(html_page(report, "Run"), gantt_svg(report)), 1u);
}

TEST(Html, NeedsNothingFromOutside) {
  const std::string page = html_page(sample::small_report(), "Run");
  EXPECT_EQ(count_of(page, "http"), 1u) << "only the name of the SVG namespace";
  EXPECT_EQ(count_of(page, "src="), 0u);
  EXPECT_EQ(count_of(page, "<link"), 0u);
}

TEST(Html, EscapesEveryName) {
  Report report = sample::small_report();
  report.policy = report.devices[0].name = report.devices[0].kind = sample::nasty_name();
  report.links[0].from = report.links[0].to = sample::nasty_name();
  report.task_events[0].name = sample::nasty_name();
  const std::string page = html_page(report, sample::nasty_name());
  EXPECT_EQ(count_of(page, "<script"), 0u);
  EXPECT_EQ(count_of(page, "</script>"), 0u);
  ASSERT_EQ(texts_of(page, "h1").size(), 1u);
  EXPECT_EQ(texts_of(page, "h1")[0].rfind("a&quot;b&#39;c\\d&lt;e&gt;&amp;f", 0), 0u);
}

TEST(Html, IsAPageEvenWhenNothingRan) {
  const std::string page = html_page(Report{}, "");
  EXPECT_EQ(texts_of(page, "title")[0], "Run");
  EXPECT_TRUE(texts_of(page, "td").empty());
  EXPECT_EQ(count_of(page, "Nothing has run."), 1u);
  EXPECT_EQ(count_of(page, "nan"), 0u);
}

TEST(Html, WritesTheWholePageOrNothing) {
  const sample::TemporaryFolder folder;
  write_html(sample::small_report(), "Run", folder.file("run.html"));
  EXPECT_EQ(sample::contents(folder.file("run.html")), html_page(sample::small_report(), "Run"));
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THROW(write_html(sample::small_report(), "Run", "/dev/full"), FileError);
}

}  // namespace
}  // namespace hocket::trace
