// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <hocket/problem.hpp>
#include <limits>
#include <string>
#include <vector>

namespace hocket {
namespace {

using Kind = Violation::Kind;

// A diamond 0 -> {1, 2} -> 3. Device 0 has two workers on node 0, device 1 one on node 1; task 3 may only run
// on device 0. Moving data between the nodes takes 1 + 10/10 = 2 seconds.
Problem diamond() {
  ProblemBuilder builder;
  builder.add_device({2, 0});
  builder.add_device({1, 1});
  builder.set_link(0, 1, {1.0, 10.0});
  builder.set_link(1, 0, {1.0, 10.0});
  builder.add_task({4.0, 2.0});
  builder.add_task({4.0, 2.0});
  builder.add_task({4.0, 2.0});
  builder.add_task({1.0, kNotAllowed});
  builder.add_edge(0, 1, {10.0, 0.0});
  builder.add_edge(0, 2, {10.0, 0.0});
  builder.add_edge(1, 3, {10.0, 0.0});
  builder.add_edge(2, 3, {10.0, 0.0});
  return builder.build();
}

Schedule right_schedule() {
  return {{{0, 0, 0.0, 4.0}, {1, 0, 6.0, 8.0}, {0, 1, 4.0, 8.0}, {0, 0, 10.0, 11.0}}};
}

std::vector<Kind> kinds(const std::vector<Violation>& violations) {
  std::vector<Kind> found;
  found.reserve(violations.size());
  for (const Violation& violation : violations) found.push_back(violation.kind);
  return found;
}

// What is found in the right schedule after `change`.
std::vector<Violation> after(const std::function<void(std::vector<Placement>&)>& change) {
  Schedule schedule = right_schedule();
  change(schedule.placements);
  return validate(diamond(), schedule);
}

TEST(Validate, AcceptsARightSchedule) {
  EXPECT_TRUE(validate(diamond(), right_schedule()).empty());
  EXPECT_EQ(right_schedule().makespan_seconds(), 11.0);
}

TEST(Validate, AcceptsRoundingErrors) {
  EXPECT_TRUE(after([](auto& tasks) { tasks[1].start_seconds -= 1e-10; }).empty());
  EXPECT_TRUE(after([](auto& tasks) { tasks[2].finish_seconds += 1e-10; }).empty());
}

TEST(Validate, FindsATaskThatStartsBeforeItsDataArrived) {
  const auto found = after([](auto& tasks) { tasks[1] = {1, 0, 5.5, 7.5}; });
  ASSERT_EQ(kinds(found), std::vector<Kind>{Kind::BrokenPrecedence});
  EXPECT_EQ(found[0].task, 1U);
  EXPECT_EQ(found[0].other_task, 0U);
  EXPECT_NE(found[0].message.find("arrives at 6 s"), std::string::npos) << found[0].message;
}

TEST(Validate, FindsAStartThatWasShiftedAlone) {
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[3].start_seconds = 10.5; })),
            std::vector<Kind>{Kind::WrongDuration});
}

TEST(Validate, FindsADeviceThatMayNotRunTheTask) {
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[3].device = 1; })), std::vector<Kind>{Kind::ForbiddenDevice});
}

TEST(Validate, FindsASwappedDeviceByItsDurationCommunicationAndNeighbours) {
  const auto found = after([](auto& tasks) {
    tasks[2].device = 1;
    tasks[2].worker = 0;
  });
  EXPECT_EQ(kinds(found), (std::vector<Kind>{Kind::WrongDuration, Kind::BrokenPrecedence, Kind::Overlap}));
}

TEST(Validate, FindsTwoTasksOnOneWorkerAtOnce) {
  const auto found = after([](auto& tasks) { tasks[2] = {1, 0, 7.0, 9.0}; });
  ASSERT_EQ(kinds(found), (std::vector<Kind>{Kind::BrokenPrecedence, Kind::Overlap}));
  EXPECT_EQ(found[1].task, 2U);
  EXPECT_EQ(found[1].other_task, 1U);
}

TEST(Validate, FindsAnOverlapWithATaskThatIsNotTheLastOneStarted) {
  ProblemBuilder builder;
  builder.add_device();
  for (const double cost : {10.0, 1.0, 1.0}) builder.add_task({cost});
  const Schedule schedule{{{0, 0, 0.0, 10.0}, {0, 0, 2.0, 3.0}, {0, 0, 5.0, 6.0}}};
  EXPECT_EQ(kinds(validate(builder.build(), schedule)), (std::vector<Kind>{Kind::Overlap, Kind::Overlap}));
}

TEST(Validate, LetsTasksOfZeroCostCoincideWithOthers) {
  ProblemBuilder builder;
  builder.add_device();
  builder.add_task({10.0});
  builder.add_task({0.0});
  EXPECT_TRUE(validate(builder.build(), {{{0, 0, 0.0, 10.0}, {0, 0, 5.0, 5.0}}}).empty());
}

TEST(Validate, FindsAMissingTask) {
  const auto found = after([](auto& tasks) { tasks[2].device = Placement::kNowhere; });
  ASSERT_EQ(kinds(found), std::vector<Kind>{Kind::MissingTask});
  EXPECT_EQ(found[0].task, 2U);
}

TEST(Validate, FindsTooFewAndTooManyPlacements) {
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks.pop_back(); })),
            (std::vector<Kind>{Kind::WrongTaskCount, Kind::MissingTask}));
  EXPECT_EQ(kinds(after([](auto& tasks) {
              tasks.push_back({0, 0, 20.0, 21.0});
            })),
            std::vector<Kind>{Kind::WrongTaskCount});
}

TEST(Validate, FindsUnknownDevicesAndWorkers) {
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[1].device = 2; })), std::vector<Kind>{Kind::UnknownDevice});
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[1].worker = 1; })), std::vector<Kind>{Kind::UnknownWorker});
}

TEST(Validate, FindsAWrongDuration) {
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[3].finish_seconds = 10.5; })),
            std::vector<Kind>{Kind::WrongDuration});
  EXPECT_EQ(kinds(after([](auto& tasks) { tasks[3].finish_seconds = 12.0; })),
            std::vector<Kind>{Kind::WrongDuration});
}

TEST(Validate, FindsTimesThatAreNegativeOrNotFinite) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(kinds(after([](auto& tasks) {
              tasks[0] = {0, 0, -1.0, 3.0};
            })),
            std::vector<Kind>{Kind::InvalidTime});
  EXPECT_EQ(kinds(after([&](auto& tasks) { tasks[0].start_seconds = not_a_number; })),
            std::vector<Kind>{Kind::InvalidTime});
  EXPECT_EQ(kinds(after([&](auto& tasks) { tasks[3].finish_seconds = infinity; })),
            std::vector<Kind>{Kind::InvalidTime});
}

TEST(Validate, ChargesFixedCommunicationBetweenDevicesOfOneMemoryNode) {
  ProblemBuilder builder;
  builder.add_device();
  builder.add_device();
  builder.add_task({1.0, 1.0});
  builder.add_task({1.0, 1.0});
  builder.add_edge(0, 1, {0.0, 5.0});
  const Problem problem = builder.build();
  EXPECT_TRUE(validate(problem, {{{0, 0, 0.0, 1.0}, {0, 0, 1.0, 2.0}}}).empty());
  EXPECT_TRUE(validate(problem, {{{0, 0, 0.0, 1.0}, {1, 0, 6.0, 7.0}}}).empty());
  EXPECT_EQ(kinds(validate(problem, {{{0, 0, 0.0, 1.0}, {1, 0, 5.0, 6.0}}})),
            std::vector<Kind>{Kind::BrokenPrecedence});
}

TEST(Validate, NamesEveryKind) {
  EXPECT_EQ(to_string(Kind::Overlap), "overlap");
  EXPECT_EQ(to_string(Kind::BrokenPrecedence), "broken precedence");
}

}  // namespace
}  // namespace hocket
