// SPDX-License-Identifier: Apache-2.0
// The patterns of the engine benchmark are what their descriptions say.
#include "engine/patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace hocket::bench {
namespace {

std::vector<std::uint32_t> successors(const Workload& work, std::size_t task) {
  const auto span = work.successors(task);
  return {span.begin(), span.end()};
}

using Tasks = std::vector<std::uint32_t>;

TEST(Workloads, HaveTheEdgesThatFollowFromTheirAccesses) {
  const std::array<std::uint32_t, 1> x{0};
  const std::array<std::uint32_t, 1> y{1};
  const std::array<std::uint32_t, 2> both{0, 1};
  Workload work;
  work.add({}, x);     // 0
  work.add(x, {});     // 1 reads what 0 wrote
  work.add(x, y);      // 2 too
  work.add({}, x);     // 3 writes what 1 and 2 have read
  work.add({}, both);  // 4 follows 3, and 2 for the sake of y
  work.add(both, {});  // 5 follows 4 once
  work.find_edges();
  EXPECT_EQ(work.data, 2u);
  EXPECT_EQ(successors(work, 0), (Tasks{1, 2}));
  EXPECT_EQ(successors(work, 1), (Tasks{3}));
  EXPECT_EQ(successors(work, 2), (Tasks{3, 4}));
  EXPECT_EQ(successors(work, 3), (Tasks{4}));
  EXPECT_EQ(successors(work, 4), (Tasks{5}));
  EXPECT_EQ(work.predecessor_counts()[5], 1u);
  EXPECT_EQ(work.edges(), 7u);
}

TEST(Patterns, HaveAsManyTasksAndEdgesAsTheySay) {
  struct Expected {
    const char* name;
    std::size_t tasks;
    std::size_t edges;
  };
  for (const auto& [name, tasks, edges] : {Expected{"independent", 20000, 0},
                                           {"independent_lambda", 20000, 0},
                                           {"chain", 20000, 19999},
                                           {"tree", 16383, 16382},
                                           {"fan", 20000, 200 * 99 + 199 * 99},
                                           {"wavefront", 1000000, 2 * 1000 * 999},
                                           {"layered", 100000, 4 * 99000},
                                           {"cholesky", 11480, 31980},
                                           {"submit2", 20000, 0},
                                           {"one_task", 1, 0},
                                           {"cold", 200000, 0}}) {
    const Workload work = make_pattern(name, {});
    EXPECT_EQ(work.tasks, tasks) << name;
    EXPECT_EQ(work.edges(), edges) << name;
  }
  EXPECT_EQ(make_pattern("fibonacci", {}).tasks, 21890u);
  EXPECT_EQ(expected_fibonacci(20), 6765u);
}

TEST(Patterns, UseAsManyDataInATaskAsTheirNamesSay) {
  for (const std::size_t count : {1u, 2u, 3u}) {
    const Workload work = make_pattern("data" + std::to_string(count), {});
    EXPECT_EQ(work.tasks, 20000u);
    EXPECT_EQ(work.data, 1024u);
    for (std::size_t task = 0; task < work.tasks; ++task) {
      const Workload::Accesses access = work.accesses(task);
      ASSERT_EQ(access.data.size(), count);
      ASSERT_EQ(access.writes(), 1u);
      Tasks different(access.data.begin(), access.data.end());
      std::sort(different.begin(), different.end());
      ASSERT_EQ(std::unique(different.begin(), different.end()), different.end());
    }
  }
}

TEST(Patterns, AreTheSameEachTime) {
  const Workload one = make_pattern("layered", {.divisor = 10});
  const Workload other = make_pattern("layered", {.divisor = 10});
  for (std::size_t task = 0; task < one.tasks; ++task)
    ASSERT_EQ(successors(one, task), successors(other, task));
}

TEST(Patterns, AreSmallerOnDemand) {
  for (const PatternInfo& pattern : pattern_infos()) {
    const Workload usual = make_pattern(pattern.name, {});
    const Workload quick = make_pattern(pattern.name, {.divisor = 10});
    EXPECT_LT(quick.tasks * quick.rounds, usual.tasks * usual.rounds / 4) << pattern.name;
    EXPECT_GT(quick.tasks * quick.rounds, usual.tasks * usual.rounds / 150) << pattern.name;
  }
}

TEST(Patterns, ThatAreUnknownAreRefused) {
  EXPECT_THROW(make_pattern("spiral", {}), std::invalid_argument);
  EXPECT_THROW(make_grain_pattern("spiral", 8, 2), std::invalid_argument);
}

// Predecessors of a point of a row of 8.
Tasks before(std::string_view pattern, std::size_t row, std::size_t point) {
  const Workload work = make_grain_pattern(pattern, 8, row + 1);
  Tasks points;
  for (std::size_t x = 0; x < 8; ++x) {
    const Tasks after = successors(work, (row - 1) * 8 + x);
    if (std::count(after.begin(), after.end(), row * 8 + point))
      points.push_back(static_cast<std::uint32_t>(x));
  }
  return points;
}

TEST(GrainPatterns, ReadTheirNeighboursInTheRowBefore) {
  EXPECT_EQ(before("stencil", 1, 0), (Tasks{0, 1}));
  EXPECT_EQ(before("stencil", 2, 3), (Tasks{2, 3, 4}));
  EXPECT_EQ(before("nearest", 2, 3), (Tasks{1, 2, 3, 4, 5}));
  EXPECT_EQ(before("nearest", 2, 7), (Tasks{5, 6, 7}));
  EXPECT_EQ(before("fft", 1, 3), (Tasks{2, 3, 4}));
  EXPECT_EQ(before("fft", 2, 3), (Tasks{1, 3, 5}));
  EXPECT_EQ(before("fft", 3, 3), (Tasks{3, 7}));
  EXPECT_EQ(before("fft", 4, 3), (Tasks{2, 3, 4}));
  EXPECT_EQ(before("random", 2, 3).size(), 5u);
}

TEST(GrainPatterns, TreeDoublesUntilItIsAsWideAsTheOthers) {
  const Workload work = make_grain_pattern("tree", 8, 5);
  EXPECT_EQ(work.tasks, 1u + 2 + 4 + 8 + 8);
  EXPECT_EQ(successors(work, 0), (Tasks{1, 2}));
  EXPECT_EQ(successors(work, 3), (Tasks{7, 8}));    // point 0 of a row of 4
  EXPECT_EQ(successors(work, 8), (Tasks{17, 18}));  // point 1 of a row of 8
  EXPECT_EQ(successors(work, 14), (Tasks{}));       // point 7: nobody's parent
}

}  // namespace
}  // namespace hocket::bench
