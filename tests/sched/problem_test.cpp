// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/problem.hpp>
#include <limits>
#include <string>
#include <vector>

#include "random_problem.hpp"

namespace hocket {
namespace {

// The message of the InvalidArgument that `action` throws; empty if it throws none.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

#define EXPECT_REFUSED(statement, part) \
  EXPECT_NE(refusal([&] { statement; }).find(part), std::string::npos) << refusal([&] { statement; })

ProblemBuilder two_devices() {
  ProblemBuilder builder;
  builder.add_device({1, 0});
  builder.add_device({1, 1});
  return builder;
}

TEST(Problem, KeepsCostsEdgesAndPlatformAsGiven) {
  ProblemBuilder builder;
  EXPECT_EQ(builder.add_device({4, 0}), 0U);
  EXPECT_EQ(builder.add_device({1, 1}), 1U);
  builder.set_link(0, 1, {0.5, 100.0});
  builder.set_link(1, 0, {0.25, 50.0});
  EXPECT_EQ(builder.add_task({1.0, 2.0}), 0U);
  EXPECT_EQ(builder.add_task({3.0, kNotAllowed}), 1U);
  EXPECT_EQ(builder.add_task({kNotAllowed, 4.0}), 2U);
  builder.add_edge(0, 2, {200.0, 0.0});
  builder.add_edge(1, 2, {0.0, 7.0});
  builder.add_edge(0, 1);
  const Problem problem = builder.build();

  EXPECT_EQ(problem.task_count(), 3U);
  EXPECT_EQ(problem.device_count(), 2U);
  EXPECT_EQ(problem.edge_count(), 3U);
  EXPECT_EQ(problem.memory_node_count(), 2U);
  EXPECT_EQ(problem.device(0).workers, 4U);
  EXPECT_EQ(problem.cost(1, 0), 3.0);
  EXPECT_FALSE(problem.allowed(1, 1));
  EXPECT_TRUE(problem.allowed(2, 1));
  EXPECT_EQ(problem.costs(0)[1], 2.0);
  ASSERT_EQ(problem.successors(0).size(), 2U);
  EXPECT_EQ(problem.successors(0)[0], 2U);
  EXPECT_EQ(problem.successors(0)[1], 1U);
  EXPECT_EQ(problem.edge(problem.first_edge(0)).bytes, 200.0);
  ASSERT_EQ(problem.incoming_edges(2).size(), 2U);
  EXPECT_EQ(problem.edge_source(problem.incoming_edges(2)[0]), 0U);
  EXPECT_EQ(problem.edge_source(problem.incoming_edges(2)[1]), 1U);
  EXPECT_EQ(problem.edge_target(problem.incoming_edges(2)[1]), 2U);
}

TEST(Problem, ChargesFixedTimeBetweenDevicesAndTransfersBetweenMemoryNodes) {
  ProblemBuilder builder;
  builder.add_device({2, 0});
  builder.add_device({1, 0});
  builder.add_device({1, 1});
  builder.set_link(0, 1, {0.5, 100.0});
  builder.set_link(1, 0, {0.25, 50.0});
  builder.add_task({1.0, 1.0, 1.0});
  builder.add_task({1.0, 1.0, 1.0});
  builder.add_edge(0, 1, {200.0, 3.0});
  builder.add_edge(0, 1, {0.0, 3.0});
  const Problem problem = builder.build();

  EXPECT_EQ(problem.communication_seconds(0, 0, 0), 0.0);
  EXPECT_EQ(problem.communication_seconds(0, 0, 1), 3.0);
  EXPECT_EQ(problem.communication_seconds(0, 0, 2), 3.0 + 0.5 + 2.0);
  EXPECT_EQ(problem.communication_seconds(0, 2, 1), 3.0 + 0.25 + 4.0);
  EXPECT_EQ(problem.communication_seconds(1, 0, 2), 3.0) << "an edge without bytes pays no latency";
}

TEST(Problem, OrdersTasksTopologicallyWhateverTheirNumbers) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = test::random_problem(seed, 60);
    std::vector<std::size_t> position(problem.task_count(), problem.task_count());
    for (std::size_t i = 0; i < problem.topological_order().size(); ++i) {
      position[problem.topological_order()[i]] = i;
    }
    EXPECT_EQ(std::count(position.begin(), position.end(), problem.task_count()), 0);
    for (std::size_t edge = 0; edge < problem.edge_count(); ++edge) {
      EXPECT_LT(position[problem.edge_source(edge)], position[problem.edge_target(edge)]);
    }
  }
}

TEST(Problem, MayBeEmptyOfTasks) {
  const Problem problem = two_devices().build();
  EXPECT_EQ(problem.task_count(), 0U);
  EXPECT_EQ(problem.edge_count(), 0U);
  EXPECT_TRUE(problem.topological_order().empty());
}

TEST(ProblemBuilder, NamesTheTasksOfACycle) {
  ProblemBuilder builder = two_devices();
  for (int i = 0; i < 5; ++i) builder.add_task({1.0, 1.0});
  builder.add_edge(0, 1);
  builder.add_edge(1, 2);
  builder.add_edge(2, 3);
  builder.add_edge(3, 1);
  builder.add_edge(3, 4);
  const std::string message = refusal([&] { builder.build(); });
  EXPECT_NE(message.find("cycle"), std::string::npos) << message;
  const bool names_it = message.find("1 -> 2 -> 3 -> 1") != std::string::npos ||
                        message.find("2 -> 3 -> 1 -> 2") != std::string::npos ||
                        message.find("3 -> 1 -> 2 -> 3") != std::string::npos;
  EXPECT_TRUE(names_it) << message;
}

TEST(ProblemBuilder, CutsTheDescriptionOfALongCycle) {
  ProblemBuilder builder = two_devices();
  for (std::uint32_t i = 0; i < 1000; ++i) builder.add_task({1.0, 1.0});
  for (std::uint32_t i = 0; i < 1000; ++i) builder.add_edge(i, (i + 1) % 1000);
  const std::string message = refusal([&] { builder.build(); });
  EXPECT_NE(message.find("..."), std::string::npos);
  EXPECT_LT(message.size(), 300U);
}

TEST(ProblemBuilder, RefusesATaskThatNoDeviceMayRun) {
  ProblemBuilder builder = two_devices();
  builder.add_task({1.0, 1.0});
  EXPECT_REFUSED(builder.add_task({kNotAllowed, kNotAllowed}), "task 1 may run on none of the 2 devices");
}

TEST(ProblemBuilder, RefusesCostsThatAreNegativeOrNotANumberOrTooFew) {
  ProblemBuilder builder = two_devices();
  EXPECT_REFUSED(builder.add_task({1.0, -1.0}), "the cost of task 0 on device 1 is -1");
  EXPECT_REFUSED(builder.add_task({std::numeric_limits<double>::quiet_NaN(), 1.0}), "device 0");
  EXPECT_REFUSED(builder.add_task({1.0}), "1 costs for 2 devices");
}

TEST(ProblemBuilder, RefusesEdgesOfUnknownTasksLoopsAndBadAmounts) {
  ProblemBuilder builder = two_devices();
  builder.add_task({1.0, 1.0});
  builder.add_task({1.0, 1.0});
  EXPECT_REFUSED(builder.add_edge(0, 2), "does not exist");
  EXPECT_REFUSED(builder.add_edge(5, 0), "does not exist");
  EXPECT_REFUSED(builder.add_edge(1, 1), "loop");
  EXPECT_REFUSED(builder.add_edge(0, 1, {-1.0, 0.0}), "bytes");
  EXPECT_REFUSED(builder.add_edge(0, 1, {0.0, std::numeric_limits<double>::infinity()}), "seconds");
}

TEST(ProblemBuilder, RefusesDevicesThatCannotBeUsed) {
  ProblemBuilder builder;
  EXPECT_REFUSED(builder.build(), "no device");
  EXPECT_REFUSED(builder.add_task({}), "devices first");
  EXPECT_REFUSED(builder.add_device({0, 0}), "no worker");
  EXPECT_REFUSED(builder.add_device({1, 4000000000U}), "memory node");
  builder.add_device();
  builder.add_task({1.0});
  EXPECT_REFUSED(builder.add_device(), "before the first task");
}

TEST(ProblemBuilder, RefusesLinksThatCannotCarryData) {
  ProblemBuilder builder = two_devices();
  EXPECT_REFUSED(builder.set_link(0, 0, {}), "loop");
  EXPECT_REFUSED(builder.set_link(0, 1, {0.0, 0.0}), "bandwidth");
  EXPECT_REFUSED(builder.set_link(0, 1, {-1.0, 1.0}), "latency");
  EXPECT_REFUSED(builder.set_link(0, 5000, {}), "memory node 5000");
}

TEST(ProblemBuilder, AsksForALinkOnlyWhereBytesMayHaveToCross) {
  ProblemBuilder builder = two_devices();
  builder.add_task({1.0, 1.0});
  builder.add_task({1.0, 1.0});
  builder.add_edge(0, 1, {0.0, 2.0});
  EXPECT_NO_THROW(builder.build());
  builder.add_edge(0, 1, {8.0, 0.0});
  builder.set_link(0, 1, {0.0, 1.0});
  EXPECT_REFUSED(builder.build(), "no link from memory node 1 to 0");
  builder.set_link(1, 0, {0.0, 1.0});
  EXPECT_NO_THROW(builder.build());
}

TEST(ProblemBuilder, StaysUsableAfterARefusal) {
  ProblemBuilder builder = two_devices();
  builder.add_task({1.0, 2.0});
  EXPECT_REFUSED(builder.add_task({-1.0, 2.0}), "cost");
  EXPECT_REFUSED(builder.add_edge(0, 1), "does not exist");
  EXPECT_EQ(builder.add_task({3.0, 4.0}), 1U);
  const Problem problem = builder.build();
  EXPECT_EQ(problem.task_count(), 2U);
  EXPECT_EQ(problem.edge_count(), 0U);
  EXPECT_EQ(problem.cost(1, 1), 4.0);
}

}  // namespace
}  // namespace hocket
