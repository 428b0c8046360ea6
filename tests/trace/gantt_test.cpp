// SPDX-License-Identifier: Apache-2.0
// The Gantt chart shows every task and copy, and stays small and well formed whatever the report holds.
#include "trace/gantt.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hocket/report.hpp>
#include <limits>
#include <string>
#include <vector>

#include "trace/bars.hpp"
#include "trace/markup_reader.hpp"
#include "trace/sample.hpp"

namespace hocket::trace {
namespace {

using sample::count_of;
using sample::Element;
using sample::MarkupReader;

std::vector<Element> bars_of(const std::string& svg) {
  std::vector<Element> bars;
  for (const Element& element : MarkupReader(svg).named("rect")) {
    const auto found = element.attributes.find("class");
    if (found != element.attributes.end() && found->second.rfind("hk-gantt-bar", 0) == 0)
      bars.push_back(element);
  }
  return bars;
}

std::vector<std::string> titles_of(const std::string& svg) {
  std::vector<std::string> titles;
  for (const Element& element : MarkupReader(svg).named("title")) titles.push_back(element.text);
  return titles;
}

bool has_title(const std::string& svg, const std::string& part) {
  for (const std::string& title : titles_of(svg))
    if (title.find(part) != std::string::npos) return true;
  return false;
}

// `count` short tasks one after the other on one worker, of two codelets.
Report long_report(std::size_t count) {
  Report report;
  report.devices.resize(1);
  report.devices[0].name = "cpu:0";
  for (std::size_t i = 0; i < count; ++i) {
    TaskEvent event;
    event.id = TaskId{i + 1};
    event.codelet = i % 4 == 0 ? "rare" : "usual";
    event.begin = Seconds{static_cast<double>(i) * 1e-5};
    event.end = event.begin + Seconds{0.9e-5};
    report.task_events.push_back(event);
  }
  return report;
}

TEST(Gantt, IsOneSvgElementWithABarForEachTaskAndCopy) {
  const std::string svg = gantt_svg(sample::small_report());
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 6), "</svg>");
  EXPECT_EQ(bars_of(svg).size(), 5u);
}

TEST(Gantt, NeedsNothingFromOutside) {
  const std::string svg = gantt_svg(sample::small_report());
  EXPECT_EQ(count_of(svg, "http"), 1u) << "only the name of the SVG namespace";
  EXPECT_EQ(count_of(svg, "href"), 0u);
  EXPECT_EQ(count_of(svg, "<script"), 0u);
  EXPECT_EQ(count_of(svg, "prefers-color-scheme:dark"), 1u);
}

TEST(Gantt, TellsInATipWhatRanWhereAndWhen) {
  const std::string svg = gantt_svg(sample::small_report());
  EXPECT_TRUE(has_title(svg, "first (gemm)\non cpu:0, worker 0\nbegin: 0 s\nduration: 2.00 ms"));
  EXPECT_TRUE(has_title(svg, "second (potrf)\nfailed\non cpu:0, worker 1\nbegin: 1.00 ms"));
  EXPECT_TRUE(has_title(svg, "third (gemm)\non pim:0\nbegin: 2.00 ms\nduration: 2.00 ms\nmodelled: 250 ms"));
  EXPECT_TRUE(has_title(svg, "matrix\nhost → pim:0\nbegin: 1.00 ms\nduration: 1.00 ms\nbytes: 4.00 KiB"));
}

TEST(Gantt, PlacesBarsInProportionToTime) {
  const std::vector<Element> bars = bars_of(gantt_svg(sample::small_report()));
  ASSERT_EQ(bars.size(), 5u);
  const auto number = [](const Element& bar, const char* key) { return std::stod(bar.attributes.at(key)); };
  EXPECT_NEAR(number(bars[1], "x") - number(bars[0], "x"), number(bars[0], "width") / 2.0, 0.02);
  EXPECT_NEAR(number(bars[2], "x"), number(bars[0], "x") + number(bars[0], "width"), 0.02);
  EXPECT_NEAR(number(bars[3], "width"), number(bars[0], "width") / 2.0, 0.02);
  EXPECT_LT(number(bars[0], "y"), number(bars[1], "y")) << "each worker has a lane";
}

TEST(Gantt, ColoursByCodeletAndHatchesTransfers) {
  const std::vector<Element> bars = bars_of(gantt_svg(sample::small_report()));
  ASSERT_EQ(bars.size(), 5u);
  EXPECT_EQ(bars[0].attributes.at("fill"), bars[2].attributes.at("fill"));
  EXPECT_NE(bars[0].attributes.at("fill"), bars[1].attributes.at("fill"));
  EXPECT_EQ(bars[3].attributes.at("fill"), "url(#hk-gantt-copy)");
  EXPECT_EQ(bars[4].attributes.at("fill"), "url(#hk-gantt-conversion)");
}

TEST(Gantt, SharesOneColourAmongTheCodeletsBeyondTen) {
  Report report = long_report(12);
  for (std::size_t i = 0; i < 12; ++i) report.task_events[i].codelet = "codelet " + std::to_string(i);
  const std::string svg = gantt_svg(report);
  EXPECT_EQ(count_of(svg, "3 other codelets"), 1u);
  EXPECT_EQ(count_of(svg, "fill=\"#717171\""), 4u) << "three bars and the legend";
}

TEST(Gantt, MergesNeighboursInAHugeTraceAndSaysSo) {
  const std::string svg = gantt_svg(long_report(100000));
  const std::size_t drawn = bars_of(svg).size();
  EXPECT_LE(drawn, kMostBars);
  EXPECT_GT(drawn, 100u);
  EXPECT_LT(svg.size(), 3u << 20);
  EXPECT_EQ(count_of(svg, "100,000 events are drawn as"), 1u);
  EXPECT_TRUE(has_title(svg, "tasks, mostly usual"));
}

TEST(Gantt, MergesNothingWhenEverythingFits) {
  const std::string svg = gantt_svg(long_report(1000));
  EXPECT_EQ(bars_of(svg).size(), 1000u);
  EXPECT_EQ(count_of(svg, "are drawn as"), 0u);
}

TEST(Gantt, KeepsCountsTimesAndFailuresWhenItMerges) {
  Report report = long_report(5000);
  report.task_events[77].failed = true;
  TaskEvent long_one = report.task_events.back();
  long_one.codelet = "long";
  long_one.begin = Seconds{0.06};
  long_one.end = Seconds{0.09};
  report.task_events.push_back(long_one);
  const Chart chart = make_chart(report, 50, 1000.0, 4);
  std::size_t count = 0;
  std::size_t failed = 0;
  Seconds busy{};
  for (const Bar& bar : chart.bars.at(0).bars) {
    count += bar.count;
    failed += bar.failed;
    busy += bar.busy;
    EXPECT_LE(bar.busy.count, (bar.end - bar.begin).count * (1.0 + 1e-9));
  }
  EXPECT_LE(chart.drawn, 50u);
  EXPECT_EQ(count, 5001u);
  EXPECT_EQ(failed, 1u);
  EXPECT_NEAR(busy.count, 5000 * 0.9e-5 + 0.03, 1e-9);
  EXPECT_EQ(chart.codelets.at(chart.bars[0].bars.back().codelet).name, "long") << "long tasks stay single";
  EXPECT_EQ(chart.bars[0].bars.back().count, 1u);
}

TEST(Gantt, DrawsOverlappingEventsInDifferentRows) {
  Report report;
  report.devices.resize(1);
  report.devices[0].name = "opencl:0";
  for (int i = 0; i < 3; ++i) {
    TaskEvent event;
    event.begin = Seconds{0.1 * i};
    event.end = Seconds{1.0 + 0.1 * i};
    report.task_events.push_back(event);
  }
  const std::vector<Element> bars = bars_of(gantt_svg(report));
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_NE(bars[0].attributes.at("y"), bars[1].attributes.at("y"));
  EXPECT_NE(bars[1].attributes.at("y"), bars[2].attributes.at("y"));
}

TEST(Gantt, IsWellFormedWhateverNamesHold) {
  Report report = sample::small_report();
  report.devices[0].name = report.task_events[0].name = report.task_events[0].codelet = sample::nasty_name();
  report.transfer_events[0].data = report.transfer_events[0].from = sample::nasty_name();
  const std::string svg = gantt_svg(report);
  EXPECT_EQ(bars_of(svg).size(), 5u);
  EXPECT_TRUE(has_title(svg, "a&quot;b&#39;c\\d&lt;e&gt;&amp;f,g"));
  EXPECT_EQ(count_of(svg, "</script>"), 0u);
}

TEST(Gantt, SaysHowToTraceWhenThereIsNothingToDraw) {
  Report report = sample::small_report();
  report.task_events.clear();
  report.transfer_events.clear();
  EXPECT_EQ(count_of(gantt_svg(report), "HOCKET_TRACE=1"), 1u);
  EXPECT_EQ(count_of(gantt_svg(Report{}), "Nothing has run."), 1u);
  EXPECT_TRUE(bars_of(gantt_svg(Report{})).empty());
}

TEST(Gantt, SurvivesTimesThatMakeNoSense) {
  Report report = sample::small_report();
  report.task_events[0].begin = Seconds{std::nan("")};
  report.task_events[1].end = Seconds{std::numeric_limits<double>::infinity()};
  report.task_events[2].end = Seconds{0.0};
  const std::string svg = gantt_svg(report);
  EXPECT_EQ(bars_of(svg).size(), 3u);
  EXPECT_EQ(count_of(svg, "nan"), 0u);
  EXPECT_EQ(count_of(svg, "inf"), 0u);
}

TEST(Gantt, DrawsASingleEventThatTookNoTime) {
  Report report = long_report(1);
  report.task_events[0].end = report.task_events[0].begin;
  EXPECT_EQ(bars_of(gantt_svg(report)).size(), 1u);
}

TEST(Gantt, ShowsTasksOfDevicesThatTheReportDoesNotList) {
  Report report = long_report(1);
  report.task_events[0].device = DeviceId{9};
  const std::string svg = gantt_svg(report);
  EXPECT_EQ(bars_of(svg).size(), 1u);
  EXPECT_TRUE(has_title(svg, "on device 9"));
}

}  // namespace
}  // namespace hocket::trace
