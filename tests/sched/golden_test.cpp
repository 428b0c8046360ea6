// SPDX-License-Identifier: Apache-2.0
//
// Planners and validator against worked examples of the literature, where that data set lies beside the
// source tree (or where HOCKET_SHARED_DATA says).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <hocket/problem.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sched/upward_rank.hpp"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#ifdef HOCKET_SHARED_DATA
constexpr const char* kConfiguredFolder = HOCKET_SHARED_DATA;
#else
constexpr const char* kConfiguredFolder = "../shared/data";
#endif

fs::path shared_data() {
  const char* stated = std::getenv("HOCKET_SHARED_DATA");
  return stated != nullptr ? stated : kConfiguredFolder;
}

Problem make_problem(const json& costs, const json& edges) {
  ProblemBuilder builder;
  for (std::size_t i = 0; i < costs.at(0).size(); ++i) builder.add_device();
  for (const json& row : costs) builder.add_task(row.get<std::vector<double>>());
  for (const json& edge : edges) {
    builder.add_edge(edge.at(0), edge.at(1), {0.0, edge.at(2).get<double>()});
  }
  return builder.build();
}

std::string first_message(const std::vector<Violation>& violations) {
  return violations.empty() ? "valid" : violations.front().message;
}

class WorkedExamples : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path folder = shared_data() / "golden";
    if (!fs::is_directory(folder)) GTEST_SKIP() << "no worked examples at " << folder;
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") files.insert(entry.path());
    }
    for (const fs::path& file : files) examples_.push_back(json::parse(std::ifstream(file)));
    ASSERT_FALSE(examples_.empty()) << folder << " holds no example";
  }

  std::vector<json> examples_;
};

TEST_F(WorkedExamples, HeftReachesEachPublishedMakespan) {
  int checked = 0;
  for (const json& example : examples_) {
    if (!example.at("published").contains("HEFT")) continue;
    const Problem problem = make_problem(example.at("comp"), example.at("edges"));
    const double makespan = make_planner("heft")->plan(problem).makespan_seconds();
    EXPECT_EQ(makespan, example["published"]["HEFT"].at("makespan").get<double>()) << example.at("name");
    ++checked;
  }
  EXPECT_GE(checked, 2) << "the examples of the HEFT and PEFT papers";
}

TEST_F(WorkedExamples, HeftGivesEachReproducedScheduleTaskByTask) {
  for (const json& example : examples_) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const json& expected = example.at("reproduced").at("HEFT");
    const Problem problem = make_problem(example.at("comp"), example.at("edges"));
    const Schedule schedule = make_planner("heft")->plan(problem);
    EXPECT_EQ(first_message(validate(problem, schedule)), "valid");
    EXPECT_EQ(schedule.makespan_seconds(), expected.at("makespan").get<double>());
    for (std::size_t task = 0; task < problem.task_count(); ++task) {
      EXPECT_EQ(schedule.placements[task].device, expected.at("proc")[task].get<std::uint32_t>()) << task;
      EXPECT_EQ(schedule.placements[task].start_seconds, expected.at("start")[task].get<double>()) << task;
    }
  }
}

TEST_F(WorkedExamples, UpwardRankAndOrderEqualTheTables) {
  for (const json& example : examples_) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const Problem problem = make_problem(example.at("comp"), example.at("edges"));
    const std::vector<double> rank = sched::upward_rank(problem);
    for (std::size_t task = 0; task < problem.task_count(); ++task) {
      EXPECT_NEAR(rank[task], example.at("tables").at("rank_u")[task].get<double>(), 1e-6) << task;
    }
    EXPECT_EQ(sched::order_by_descending_rank(problem, rank),
              example.at("reproduced").at("HEFT").at("order").get<std::vector<std::uint32_t>>());
  }
}

TEST_F(WorkedExamples, ValidatorAcceptsEachScheduleOfEachAlgorithm) {
  int checked = 0;
  for (const json& example : examples_) {
    const Problem problem = make_problem(example.at("comp"), example.at("edges"));
    json schedules = example.at("reproduced");
    schedules["optimum"] = example.at("optimum");
    for (const auto& [algorithm, expected] : schedules.items()) {
      Schedule schedule;
      for (std::uint32_t task = 0; task < problem.task_count(); ++task) {
        const auto device = expected.at("proc")[task].get<std::uint32_t>();
        const auto start = expected.at("start")[task].get<double>();
        schedule.placements.push_back({device, 0, start, start + problem.cost(task, device)});
      }
      EXPECT_EQ(first_message(validate(problem, schedule)), "valid")
          << example.at("name") << " " << algorithm;
      EXPECT_EQ(schedule.makespan_seconds(), expected.at("makespan").get<double>())
          << example.at("name") << " " << algorithm;
      ++checked;
    }
  }
  EXPECT_GE(checked, 100);
}

TEST_F(WorkedExamples, NoPlannerBeatsAProvedOptimum) {
  for (const json& example : examples_) {
    ASSERT_TRUE(example.at("optimum").at("proved").get<bool>());
    const Problem problem = make_problem(example.at("comp"), example.at("edges"));
    for (const std::string_view name : planner_names()) {
      const double makespan = make_planner(name)->plan(problem).makespan_seconds();
      EXPECT_GE(makespan, example["optimum"].at("makespan").get<double>())
          << example.at("name") << " " << name;
    }
  }
}

TEST(RandomGraphsWithKnownOptimum, HeftGivesTheRecordedMakespans) {
  const fs::path file = shared_data() / "hetopt" / "hetopt.jsonl";
  if (!fs::is_regular_file(file)) GTEST_SKIP() << "no graphs at " << file;
  std::ifstream lines(file);
  int checked = 0;
  for (std::string line; std::getline(lines, line); ++checked) {
    const json instance = json::parse(line);
    const Problem problem = make_problem(instance.at("W"), instance.at("edges"));
    const Schedule schedule = make_planner("heft")->plan(problem);
    EXPECT_EQ(first_message(validate(problem, schedule)), "valid") << instance.at("name");
    EXPECT_EQ(schedule.makespan_seconds(), instance.at("heuristics").at("HEFT").get<double>())
        << instance.at("name");
    EXPECT_GE(schedule.makespan_seconds(), instance.at("opt").get<double>()) << instance.at("name");
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace hocket
