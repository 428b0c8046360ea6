// SPDX-License-Identifier: Apache-2.0
// The Chrome trace export, read back as JSON.
#include "trace/perfetto.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <hocket/error.hpp>
#include <hocket/report.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trace/sample.hpp"

namespace hocket::trace {
namespace {

using nlohmann::json;

json written(const Report& report) {
  const sample::TemporaryFolder folder;
  write_perfetto(report, folder.file("trace.json"));
  return json::parse(sample::contents(folder.file("trace.json")));
}

std::vector<json> complete_events(const json& trace) {
  std::vector<json> events;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") events.push_back(event);
  return events;
}

// The names that metadata give to processes (thread 0) and threads.
std::map<std::pair<int, int>, std::string> track_names(const json& trace) {
  std::map<std::pair<int, int>, std::string> names;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("name") == "process_name" || event.at("name") == "thread_name")
      names[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
  return names;
}

TEST(Perfetto, NamesAProcessForEachDeviceAndOneForTheTransfers) {
  const auto names = track_names(written(sample::small_report()));
  const std::map<std::pair<int, int>, std::string> expected = {
      {{1, 0}, "cpu:0"},    {{1, 1}, "worker 0"},  {{1, 2}, "worker 1"},     {{2, 0}, "pim:0"},
      {{2, 1}, "worker 0"}, {{3, 0}, "transfers"}, {{3, 1}, "host → pim:0"}, {{3, 2}, "conversion in host"}};
  EXPECT_EQ(names, expected);
}

TEST(Perfetto, GivesBeginAndDurationInMicroseconds) {
  const auto events = complete_events(written(sample::small_report()));
  ASSERT_EQ(events.size(), 5u);
  const json& second = events[1];
  EXPECT_EQ(second.at("name"), "second");
  EXPECT_DOUBLE_EQ(second.at("ts").get<double>(), 1.001e6);
  EXPECT_DOUBLE_EQ(second.at("dur").get<double>(), 2000.0);
  EXPECT_EQ(second.at("pid"), 1);
  EXPECT_EQ(second.at("tid"), 2);
  EXPECT_EQ(second.at("args").at("codelet"), "potrf");
  EXPECT_TRUE(second.at("args").at("failed").get<bool>());
}

TEST(Perfetto, TellsModelledTimeAndBytesInTheArguments) {
  const auto events = complete_events(written(sample::small_report()));
  EXPECT_DOUBLE_EQ(events[2].at("args").at("modelled_us").get<double>(), 0.25e6);
  EXPECT_EQ(events[3].at("name"), "matrix");
  EXPECT_EQ(events[3].at("args").at("bytes"), 4096);
  EXPECT_EQ(events[3].at("args").at("reason"), "fetch");
  EXPECT_EQ(events[4].at("args").at("reason"), "conversion");
}

TEST(Perfetto, StaysValidWhateverNamesHold) {
  Report report = sample::small_report();
  report.policy = sample::nasty_name();
  report.devices[0].name = sample::nasty_name();
  report.task_events[0].name = sample::nasty_name();
  report.task_events[0].codelet = sample::nasty_name();
  report.transfer_events[0].data = sample::nasty_name();
  report.transfer_events[0].from = sample::nasty_name();
  std::string expected = sample::nasty_name();
  expected.replace(expected.find('\xFF'), 1, "\xEF\xBF\xBD");
  const json trace = written(report);
  EXPECT_EQ(complete_events(trace)[0].at("name"), expected);
  EXPECT_EQ(complete_events(trace)[0].at("args").at("codelet"), expected);
  EXPECT_EQ(track_names(trace).at({1, 0}), expected + " (cpu)");
}

TEST(Perfetto, NeverOverlapsEventsOfOneThread) {
  Report report;
  report.devices.resize(1);
  report.devices[0].name = "opencl:0";
  for (int i = 0; i < 300; ++i) {
    TaskEvent event;
    event.begin = Seconds{i / 3.0e6};
    event.end = Seconds{(i + 1 + (i * 7) % 5) / 3.0e6};  // up to five at a time, at thirds of microseconds
    report.task_events.push_back(event);
  }
  std::map<int, std::vector<std::pair<double, double>>> by_thread;
  for (const json& event : complete_events(written(report)))
    by_thread[event.at("tid")].emplace_back(event.at("ts"), event.at("dur"));
  EXPECT_LE(by_thread.size(), 5u);
  EXPECT_GT(by_thread.size(), 1u);
  for (const auto& [thread, events] : by_thread)
    for (std::size_t i = 1; i < events.size(); ++i)
      EXPECT_GE(events[i].first, events[i - 1].first + events[i - 1].second - 1e-6) << "thread " << thread;
}

TEST(Perfetto, LeavesOutEventsWithoutATime) {
  Report report = sample::small_report();
  report.task_events[0].begin = Seconds{std::nan("")};
  report.task_events[1].end = Seconds{std::numeric_limits<double>::infinity()};
  report.task_events[2].end = Seconds{0.0};  // before its begin
  const auto events = complete_events(written(report));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("name"), "third");
  EXPECT_EQ(events[0].at("dur"), 0.0);
}

TEST(Perfetto, IsAnEmptyTraceWhenNothingRan) { EXPECT_TRUE(written(Report{}).at("traceEvents").empty()); }

TEST(Perfetto, ReportsAFullDisk) {
  EXPECT_THROW(write_perfetto(sample::small_report(), "/dev/full"), FileError);
}

}  // namespace
}  // namespace hocket::trace
