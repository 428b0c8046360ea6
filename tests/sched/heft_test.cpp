// SPDX-License-Identifier: Apache-2.0
#include "sched/heft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/problem.hpp>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "random_problem.hpp"
#include "sched/upward_rank.hpp"

namespace hocket {
namespace {

Schedule heft(const Problem& problem) { return make_planner("heft")->plan(problem); }

std::string first_message(const std::vector<Violation>& violations) {
  return violations.empty() ? "valid" : violations.front().message;
}

// A fork from a short task to two long ones, on two equal devices; moving data costs `communication` seconds.
Problem fork(double communication) {
  ProblemBuilder builder;
  builder.add_device();
  builder.add_device();
  for (const double cost : {1.0, 4.0, 4.0}) builder.add_task({cost, cost});
  builder.add_edge(0, 1, {0.0, communication});
  builder.add_edge(0, 2, {0.0, communication});
  return builder.build();
}

TEST(UpwardRank, IsTheLongestPathInMeanCosts) {
  ProblemBuilder builder;
  builder.add_device();
  builder.add_device();
  builder.add_task({2.0, 4.0});
  builder.add_task({6.0, kNotAllowed});
  builder.add_task({1.0, 1.0});
  builder.add_edge(0, 1, {0.0, 10.0});
  builder.add_edge(0, 2, {0.0, 11.0});
  EXPECT_EQ(sched::upward_rank(builder.build()), (std::vector<double>{3.0 + 10.0 + 6.0, 6.0, 1.0}));
}

TEST(UpwardRank, WeighsDevicesAndLinksByTheirWorkers) {
  ProblemBuilder builder;
  builder.add_device({3, 0});
  builder.add_device({1, 1});
  builder.set_link(0, 1, {1.0, 10.0});
  builder.set_link(1, 0, {3.0, 5.0});
  builder.add_task({4.0, 8.0});
  builder.add_task({0.0, 0.0});
  builder.add_edge(0, 1, {20.0, 0.0});
  // Of the 12 ordered pairs of workers, 3 lead from node 0 to 1 (3 s) and 3 back (7 s).
  const std::vector<double> rank = sched::upward_rank(builder.build());
  EXPECT_DOUBLE_EQ(rank[0], 5.0 + (3 * 3.0 + 3 * 7.0) / 12.0);
}

TEST(UpwardRank, OrdersEqualRanksByNumberDespiteRounding) {
  ProblemBuilder builder;
  builder.add_device();
  builder.add_task({0.3});
  builder.add_task({0.3});
  const Problem problem = builder.build();
  EXPECT_EQ(sched::order_by_descending_rank(problem, {0.3, 0.1 + 0.2}), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(sched::order_by_descending_rank(problem, {0.3, 0.3001}), (std::vector<std::uint32_t>{1, 0}));
}

TEST(UpwardRank, OrdersPredecessorsFirstWhereTasksCostNothing) {
  ProblemBuilder builder;
  builder.add_device();
  for (int i = 0; i < 3; ++i) builder.add_task({0.0});
  builder.add_edge(2, 1);
  builder.add_edge(1, 0);
  const Problem problem = builder.build();
  EXPECT_EQ(sched::order_by_descending_rank(problem, sched::upward_rank(problem)),
            (std::vector<std::uint32_t>{2, 1, 0}));
}

TEST(Heft, SpreadsAForkWhenCommunicationIsCheapAndKeepsItTogetherWhenDear) {
  EXPECT_EQ(heft(fork(1.0)).makespan_seconds(), 6.0);
  EXPECT_EQ(heft(fork(100.0)).makespan_seconds(), 9.0);
}

TEST(Heft, InsertsATaskIntoAnIdleGap) {
  // The chain 0 -> 1 -> 2 is forced onto devices 0, 1, 0 and leaves device 0 idle from 1 to 7. Task 3 comes
  // last.
  ProblemBuilder builder;
  builder.add_device();
  builder.add_device();
  builder.add_task({1.0, kNotAllowed});
  builder.add_task({kNotAllowed, 6.0});
  builder.add_task({1.0, kNotAllowed});
  builder.add_task({0.5, kNotAllowed});
  builder.add_edge(0, 1);
  builder.add_edge(1, 2);
  const Schedule schedule = heft(builder.build());
  EXPECT_EQ(schedule.placements[2].start_seconds, 7.0);
  EXPECT_EQ(schedule.placements[3].start_seconds, 1.0);
}

TEST(Heft, BreaksTiesByLowerTaskThenDeviceThenWorker) {
  ProblemBuilder builder;
  builder.add_device({2, 0});
  builder.add_device({1, 0});
  for (int i = 0; i < 3; ++i) builder.add_task({1.0, 1.0});
  const Schedule schedule = heft(builder.build());
  EXPECT_EQ(schedule.placements[0].device, 0U);
  EXPECT_EQ(schedule.placements[0].worker, 0U);
  EXPECT_EQ(schedule.placements[1].device, 0U);
  EXPECT_EQ(schedule.placements[1].worker, 1U);
  EXPECT_EQ(schedule.placements[2].device, 1U);
  EXPECT_EQ(schedule.makespan_seconds(), 1.0);
}

TEST(Heft, UsesAllWorkersOfADevice) {
  ProblemBuilder builder;
  builder.add_device({4, 0});
  for (int i = 0; i < 8; ++i) builder.add_task({1.0});
  EXPECT_EQ(heft(builder.build()).makespan_seconds(), 2.0);
}

TEST(Heft, CountsTransfersOverLinks) {
  // Device 1 is 2 seconds faster for task 1, but its data need 1 + 15/10 = 2.5 seconds to get there.
  ProblemBuilder builder;
  builder.add_device({1, 0});
  builder.add_device({1, 1});
  builder.set_link(0, 1, {1.0, 10.0});
  builder.set_link(1, 0, {1.0, 10.0});
  builder.add_task({1.0, kNotAllowed});
  builder.add_task({3.0, 1.0});
  builder.add_edge(0, 1, {15.0, 0.0});
  const Schedule schedule = heft(builder.build());
  EXPECT_EQ(schedule.placements[1].device, 0U);
  EXPECT_EQ(schedule.makespan_seconds(), 4.0);
}

TEST(Heft, PlansNothingForAProblemWithoutTasks) {
  ProblemBuilder builder;
  builder.add_device();
  const Schedule schedule = heft(builder.build());
  EXPECT_TRUE(schedule.placements.empty());
  EXPECT_EQ(schedule.makespan_seconds(), 0.0);
}

TEST(Heft, GivesAValidScheduleForAnyRandomProblem) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = test::random_problem(seed, 80);
    ASSERT_EQ(first_message(validate(problem, heft(problem))), "valid") << "seed " << seed;
  }
}

TEST(Heft, GivesAValidScheduleForThousandsOfTasks) {
  const Problem problem = test::random_problem(3, 20000);
  ASSERT_GT(problem.task_count(), 5000U);
  EXPECT_EQ(first_message(validate(problem, heft(problem))), "valid");
}

TEST(Heft, GivesTheSameScheduleEachTime) {
  const Problem problem = test::random_problem(11, 200);
  const Schedule first = heft(problem);
  const Schedule second = heft(problem);
  for (std::size_t task = 0; task < problem.task_count(); ++task) {
    EXPECT_EQ(first.placements[task].device, second.placements[task].device);
    EXPECT_EQ(first.placements[task].worker, second.placements[task].worker);
    EXPECT_EQ(first.placements[task].start_seconds, second.placements[task].start_seconds);
  }
}

// Each mutation of a valid schedule breaks it for certain, so the validator must find something.
TEST(Heft, ScheduleStopsBeingValidUnderAnyMutation) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = test::random_problem(seed, 40);
    const Schedule schedule = heft(problem);
    std::mt19937_64 random(seed);
    const auto task = static_cast<std::uint32_t>(random() % problem.task_count());
    const Placement original = schedule.placements[task];

    const auto broken = [&](const Placement& mutated) {
      Schedule changed = schedule;
      changed.placements[task] = mutated;
      ++tried;
      return !validate(problem, changed).empty();
    };
    Placement mutated = original;
    mutated.finish_seconds += 0.001;
    EXPECT_TRUE(broken(mutated)) << "longer, seed " << seed;

    mutated = original;
    mutated.device = Placement::kNowhere;
    EXPECT_TRUE(broken(mutated)) << "missing, seed " << seed;

    for (std::uint32_t device = 0; device < problem.device_count(); ++device) {
      if (problem.cost(task, device) == problem.cost(task, original.device)) continue;
      mutated = original;
      mutated.device = device;
      mutated.worker = 0;
      EXPECT_TRUE(broken(mutated)) << "moved to device " << device << ", seed " << seed;
    }
    for (const std::uint32_t edge : problem.incoming_edges(task)) {
      const Placement& source = schedule.placements[problem.edge_source(edge)];
      const double cost = problem.cost(task, original.device);
      mutated = original;
      mutated.start_seconds = source.finish_seconds - 0.001;
      mutated.finish_seconds = mutated.start_seconds + cost;
      EXPECT_TRUE(broken(mutated)) << "before a predecessor, seed " << seed;
    }
    for (std::uint32_t other = 0; other < problem.task_count(); ++other) {
      const Placement& neighbour = schedule.placements[other];
      const double cost = problem.cost(task, original.device);
      const bool both_take_time = cost > 0.0 && neighbour.finish_seconds > neighbour.start_seconds;
      if (other == task || neighbour.device != original.device || !both_take_time) continue;
      mutated = {neighbour.device, neighbour.worker, neighbour.start_seconds, neighbour.start_seconds + cost};
      EXPECT_TRUE(broken(mutated)) << "on top of task " << other << ", seed " << seed;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(PlannerRegistry, MakesEachPlannerThatItNames) {
  const std::vector<std::string_view> names = planner_names();
  EXPECT_FALSE(names.empty());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string_view name : names) EXPECT_EQ(make_planner(name)->name(), name);
}

TEST(PlannerRegistry, ListsTheKnownNamesWhenAskedForAnother) {
  try {
    make_planner("hefty");
    FAIL() << "a planner of an unknown name was made";
  } catch (const InvalidArgument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("\"hefty\""), std::string::npos) << message;
    for (const std::string_view name : planner_names()) {
      EXPECT_NE(message.find(name), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace hocket
