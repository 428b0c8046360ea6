// SPDX-License-Identifier: Apache-2.0
// The benchmark notices a runtime that does not do its work, and sees the memory that it takes.
#include "engine/checks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/patterns.hpp"

namespace hocket::bench {
namespace {

enum class Manner { Right, SkipsTheLast, RepeatsTheFirst, Backwards, NothingTheSecondTime };

// Runs the tasks one after the other on the calling thread.
template <Manner manner>
class Serial final : public Contender {
 public:
  explicit Serial(const Setting& setting) : workload_(setting.workload) {}
  void run() override {
    if (manner == Manner::NothingTheSecondTime && times_++ > 0) return;
    for (std::size_t round = 0; round < workload_.rounds; ++round) {
      const std::size_t tasks = workload_.tasks - (manner == Manner::SkipsTheLast ? 1 : 0);
      if (manner == Manner::RepeatsTheFirst) execute<Body::Stamp>(0);
      for (std::size_t i = 0; i < tasks; ++i)
        execute<Body::Stamp>(manner == Manner::Backwards ? tasks - 1 - i : i);
    }
  }
  void run_held(Gate&) override {}

 private:
  const Workload& workload_;
  int times_ = 0;
};

template <Manner manner>
Verdict verdict_on(const char* pattern) {
  const Entry entry{"serial", [](const Kind& kind, int) { return kind.form == Form::Tasks; },
                    [](const Setting& setting) -> std::unique_ptr<Contender> {
                      return std::make_unique<Serial<manner>>(setting);
                    }};
  return verify(entry, make_pattern(pattern, {.divisor = 100}), 1);
}

TEST(Verification, AcceptsWhatRunsEachTaskOnceAndInOrder) {
  for (const PatternInfo& pattern : pattern_infos()) {
    if (pattern.kind.form != Form::Tasks) continue;
    const Verdict verdict = verdict_on<Manner::Right>(std::string(pattern.name).c_str());
    EXPECT_EQ(verdict.wrong, "") << pattern.name;
    EXPECT_FALSE(verdict.skipped);
  }
}

TEST(Verification, NoticesATaskThatDidNotRun) {
  EXPECT_NE(verdict_on<Manner::SkipsTheLast>("independent").wrong, "");
  EXPECT_NE(verdict_on<Manner::SkipsTheLast>("one_task").wrong, "");
}

TEST(Verification, NoticesATaskThatRanTwice) {
  EXPECT_NE(verdict_on<Manner::RepeatsTheFirst>("independent").wrong, "");
}

TEST(Verification, NoticesATaskThatRanBeforeOneThatItDependsOn) {
  EXPECT_EQ(verdict_on<Manner::Backwards>("independent").wrong, "");
  for (const char* pattern :
       {"chain", "tree", "fan", "wavefront", "layered", "data1", "data2", "data3", "cholesky"})
    EXPECT_NE(verdict_on<Manner::Backwards>(pattern).wrong, "") << pattern;
}

TEST(Verification, NoticesAGraphThatDoesNotRunAgain) {
  EXPECT_NE(verdict_on<Manner::NothingTheSecondTime>("chain").wrong, "");
}

TEST(Verification, SaysWhatARuntimeHasNothingFor) {
  EXPECT_TRUE(verdict_on<Manner::Right>("fibonacci").skipped);
}

// Takes a block of memory for each task until the gate opens; or runs the tasks while they are submitted.
template <bool eager>
class Keeper final : public Contender {
 public:
  static constexpr std::size_t kBytes = 1000;
  explicit Keeper(const Setting& setting) : workload_(setting.workload) {}
  void run() override {}
  void run_held(Gate& gate) override {
    gate.begin();
    std::vector<std::unique_ptr<char[]>> blocks;
    for (std::size_t i = 0; i < workload_.tasks; ++i) {
      blocks.push_back(std::make_unique<char[]>(kBytes));
      if (eager) execute<Body::Count>(i);
    }
    gate.all_submitted();
  }

 private:
  const Workload& workload_;
};

template <bool eager>
std::optional<double> bytes_of(const char* pattern) {
  const Entry entry{"keeper", [](const Kind&, int) { return true; },
                    [](const Setting& setting) -> std::unique_ptr<Contender> {
                      return std::make_unique<Keeper<eager>>(setting);
                    }};
  return bytes_per_task(entry, make_pattern(pattern, {}), 1);
}

TEST(Memory, IsThatOfTheTasksInFlight) {
  const auto bytes = bytes_of<false>("chain");
  ASSERT_TRUE(bytes.has_value());
  EXPECT_GE(*bytes, 1000);
  EXPECT_LE(*bytes, 1200);
}

TEST(Memory, IsNotReportedWhereTasksRunAsTheyAreSubmitted) {
  EXPECT_FALSE(bytes_of<true>("chain").has_value());
  EXPECT_FALSE(bytes_of<false>("one_task").has_value());
}

}  // namespace

// What a program of the benchmark defines; these tests bring their own.
std::span<const Entry> runtimes() { return {}; }

}  // namespace hocket::bench
