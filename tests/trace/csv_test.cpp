// SPDX-License-Identifier: Apache-2.0
// The CSV export, read back by a parser of RFC 4180.
#include <gtest/gtest.h>

#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/report.hpp>
#include <string>
#include <vector>

#include "trace/sample.hpp"

namespace hocket::trace {
namespace {

using sample::TemporaryFolder;
using Records = std::vector<std::vector<std::string>>;

Records parse(const std::string& text) {
  Records records(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = records.back().back();
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      records.back().emplace_back();
    } else if (!quoted && text.compare(i, 2, "\r\n") == 0) {
      ++i;
      records.push_back({""});
    } else {
      field += text[i];
    }
  }
  records.pop_back();  // what follows the last line break
  return records;
}

Records written(const Report& report) {
  const TemporaryFolder folder;
  write_csv(report, folder.file("tasks.csv"));
  return parse(sample::contents(folder.file("tasks.csv")));
}

TEST(Csv, HasAHeaderAndARecordForEachTask) {
  const Records records = written(sample::small_report());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0], (std::vector<std::string>{"task", "name", "codelet", "device", "device_name",
                                                  "worker", "ready_seconds", "begin_seconds", "end_seconds",
                                                  "modelled_seconds", "failed"}));
  EXPECT_EQ(records[2], (std::vector<std::string>{"2", "second", "potrf", "0", "cpu:0", "1", "1.001", "1.001",
                                                  "1.003", "", "1"}));
  EXPECT_EQ(records[3][9], "0.25");
}

TEST(Csv, GivesNamesAndTimesBackExactly) {
  Report report = sample::small_report();
  report.task_events[0].name = sample::nasty_name();
  report.devices[0].name = "cpu, \"fast\"";
  report.task_events[0].begin = Seconds{0.1 + 0.2};
  const Records records = written(report);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1][1], sample::nasty_name());
  EXPECT_EQ(records[1][4], "cpu, \"fast\"");
  EXPECT_EQ(std::strtod(records[1][7].c_str(), nullptr), 0.1 + 0.2);
  for (const auto& record : records) EXPECT_EQ(record.size(), 11u);
}

TEST(Csv, HoldsOnlyTheHeaderWhenNothingRan) { EXPECT_EQ(written(Report{}).size(), 1u); }

TEST(Csv, ReportsAFullDisk) { EXPECT_THROW(write_csv(sample::small_report(), "/dev/full"), FileError); }

}  // namespace
}  // namespace hocket::trace
