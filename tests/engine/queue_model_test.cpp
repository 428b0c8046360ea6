// SPDX-License-Identifier: Apache-2.0
// The lock-free queues under every interleaving of small programs, and programs with a known fault, which must be
// found: otherwise the search would prove nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/submission_queue.hpp"
#include "engine/work_stealing_deque.hpp"
#include "support/interleavings.hpp"

namespace hocket::engine {
namespace {

using testing::Exploration;
using testing::explore;
using testing::fail;
using testing::Flaw;
using testing::FlawedModelAtomics;
using testing::Program;
using Values = std::vector<std::uint64_t>;

std::string text(const Values& values) {
  std::string line;
  for (const std::uint64_t value : values) line.append(" ").append(std::to_string(value));
  return line;
}

/// Each of the values 1 to `pushed` was taken once, by whomever.
void require_each_once(const std::vector<Values>& taken, std::uint64_t pushed) {
  std::vector<int> times(pushed + 1, 0);
  for (const Values& values : taken)
    for (const std::uint64_t value : values) {
      if (value >= 1 && value <= pushed)
        ++times[value];
      else
        fail("a value came out that never went in: " + std::to_string(value));
    }
  for (std::uint64_t value = 1; value <= pushed; ++value)
    if (times[value] != 1)
      fail(std::to_string(value) + " was taken " + std::to_string(times[value]) + " times");
}

void require_ascending(const Values& values) {
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] >= values[i]) fail("taken out of order:" + text(values));
}

void expect_correct(const Exploration& exploration) {
  EXPECT_EQ(exploration.failure, "");
  EXPECT_TRUE(exploration.exhausted || testing::kExplorationsStopEarly)
      << "more than " << exploration.schedules << " schedules";
  ::testing::Test::RecordProperty("schedules", std::to_string(exploration.schedules));
  ::testing::Test::RecordProperty("states", std::to_string(exploration.states));
}

void expect_found(const Exploration& exploration, const std::string& what) {
  EXPECT_NE(exploration.failure.find(what), std::string::npos)
      << "found after " << exploration.schedules << " schedules: " << exploration.failure;
}

// ---- the deque ----------------------------------------------------------------------------------------------------

/// An owner that pushes 1, 2, ... (+) and pops (-) as it is told, and thieves.
template <class Atomics>
void deque_program(Program& program, const std::string& owner_steps, const std::vector<int>& thieves_steals,
                   std::size_t capacity) {
  struct State {
    explicit State(std::size_t initial_capacity) : deque(initial_capacity) {}
    BasicWorkStealingDeque<Atomics> deque;
    std::vector<Values> taken;
    std::uint64_t pushed = 0;
    bool found_nothing_last = false;
  };
  const auto state = std::make_shared<State>(capacity);
  state->taken.resize(thieves_steals.size() + 2);
  program.thread("owner", [state, owner_steps] {
    for (const char step : owner_steps) {
      if (step == '+') {
        state->deque.push(++state->pushed);
        continue;
      }
      const std::uint64_t value = state->deque.pop();
      state->found_nothing_last = value == 0;
      if (value != 0) state->taken[0].push_back(value);
    }
  });
  for (std::size_t thief = 0; thief < thieves_steals.size(); ++thief)
    program.thread("thief " + std::to_string(thief), [state, thief, steals = thieves_steals[thief]] {
      for (int i = 0; i < steals; ++i)
        if (const std::uint64_t value = state->deque.steal()) state->taken[thief + 2].push_back(value);
    });
  program.afterwards([state, owner_steps] {
    if (state->deque.size_hint() > state->pushed) fail("the deque says that it holds more than it was given");
    Values& rest = state->taken[1];
    while (const std::uint64_t value = state->deque.pop()) rest.push_back(value);
    if (owner_steps.back() == '-' && state->found_nothing_last && !rest.empty())
      fail("the owner found nothing in a deque that held:" + text(rest));
    require_each_once(state->taken, state->pushed);
    for (std::size_t thief = 2; thief < state->taken.size(); ++thief) require_ascending(state->taken[thief]);
  });
}

template <Flaw flaw = Flaw::kNone>
Exploration explore_deque(const std::string& owner_steps, const std::vector<int>& thieves_steals,
                          std::size_t capacity = 4) {
  return explore([&](Program& program) {
    deque_program<FlawedModelAtomics<flaw>>(program, owner_steps, thieves_steals, capacity);
  });
}

TEST(DequeModel, GivesTheLastValueToTheOwnerOrOneOfTwoThieves) {
  expect_correct(explore_deque("+-", {1, 1}));
}

TEST(DequeModel, GivesEachOfTwoValuesToOneTaker) { expect_correct(explore_deque("++--", {1, 1})); }

TEST(DequeModel, GivesEachOfThreeValuesToOneTaker) { expect_correct(explore_deque("+++---", {2, 1})); }

TEST(DequeModel, IsEmptiedAndFilledAgainBesideAThief) { expect_correct(explore_deque("+-+-", {2})); }

TEST(DequeModel, GrowsBesideTwoThieves) { expect_correct(explore_deque("+++-", {1, 1}, 1)); }

TEST(DequeModel, ReusesItsSlotsBesideAThief) { expect_correct(explore_deque("++-++-", {2}, 2)); }

TEST(DequeModel, IsFoundBrokenWithoutItsFences) {
  expect_found(explore_deque<Flaw::kNoFence>("++--", {2}), "was taken 2 times");
}

TEST(DequeModel, IsFoundBrokenWithoutAnAtomicCompareAndSwap) {
  expect_found(explore_deque<Flaw::kTornCompareExchange>("+", {1, 1}), "was taken 2 times");
}

TEST(DequeModel, IsFoundBrokenWithoutReleaseStores) {
  expect_found(explore_deque<Flaw::kUnorderedStores>("+", {1}), "was taken 0 times");
}

// ---- the submission queue -----------------------------------------------------------------------------------------

/// An owner that pushes 1, 2, ..., and takers, each of which takes so many at a time until it finds nothing.
template <class Atomics>
void queue_program(Program& program, std::uint64_t pushed_before, std::uint64_t pushes,
                   const std::vector<std::size_t>& batches, std::size_t capacity) {
  struct State {
    explicit State(std::size_t initial_capacity) : queue(initial_capacity) {}
    BasicSubmissionQueue<Atomics> queue;
    std::vector<Values> taken;
  };
  const auto state = std::make_shared<State>(capacity);
  state->taken.resize(batches.size() + 1);
  for (std::uint64_t value = 1; value <= pushed_before; ++value) state->queue.push(value);
  const std::uint64_t pushed = pushed_before + pushes;
  if (pushes > 0)
    program.thread("owner", [state, pushed_before, pushed] {
      for (std::uint64_t value = pushed_before + 1; value <= pushed; ++value) state->queue.push(value);
    });
  for (std::size_t taker = 0; taker < batches.size(); ++taker)
    program.thread("taker " + std::to_string(taker), [state, taker, most = batches[taker]] {
      Values batch(most);
      const auto take = [&]() -> std::size_t {
        if (most > 1) return state->queue.take_some(batch.data(), most);
        batch[0] = state->queue.take();
        return batch[0] != 0 ? 1 : 0;
      };
      while (const std::size_t count = take()) {
        for (std::size_t i = 1; i < count; ++i)
          if (batch[i] != batch[i - 1] + 1) fail("a batch has gaps:" + text(batch));
        state->taken[taker + 1].insert(state->taken[taker + 1].end(), batch.begin(),
                                       batch.begin() + static_cast<std::ptrdiff_t>(count));
      }
    });
  program.afterwards([state, pushes, pushed] {
    if (state->queue.pushed() != pushed) fail("pushes are not counted right");
    Values& rest = state->taken[0];
    if (state->queue.size_hint() != pushed - state->queue.taken()) fail("the queue does not know its size");
    while (const std::uint64_t value = state->queue.take()) rest.push_back(value);
    if (pushes == 0 && !rest.empty()) fail("takers found nothing in a queue that held:" + text(rest));
    if (state->queue.taken() != pushed) fail("takes are not counted right");
    require_each_once(state->taken, pushed);
    for (const Values& values : state->taken) require_ascending(values);
  });
}

template <Flaw flaw = Flaw::kNone>
Exploration explore_queue(std::uint64_t pushed_before, std::uint64_t pushes,
                          const std::vector<std::size_t>& batches, std::size_t capacity = 4) {
  return explore([&](Program& program) {
    queue_program<FlawedModelAtomics<flaw>>(program, pushed_before, pushes, batches, capacity);
  });
}

TEST(SubmissionQueueModel, GivesEachValueToOneOfTwoTakers) { expect_correct(explore_queue(0, 2, {1, 1})); }

TEST(SubmissionQueueModel, GivesEachBatchToOneOfTwoTakers) { expect_correct(explore_queue(1, 2, {2, 3})); }

TEST(SubmissionQueueModel, IsEmptyWhenThreeTakersFindNothing) {
  expect_correct(explore_queue(3, 0, {1, 2, 1}));
}

TEST(SubmissionQueueModel, GrowsBesideTwoTakers) { expect_correct(explore_queue(1, 2, {1, 2}, 1)); }

TEST(SubmissionQueueModel, ReusesItsSlotsBesideATaker) { expect_correct(explore_queue(2, 4, {2}, 2)); }

TEST(SubmissionQueueModel, IsFoundBrokenWithoutAnAtomicCompareAndSwap) {
  expect_found(explore_queue<Flaw::kTornCompareExchange>(1, 0, {1, 1}), "was taken 2 times");
}

TEST(SubmissionQueueModel, IsFoundBrokenWithoutReleaseStores) {
  expect_found(explore_queue<Flaw::kUnorderedStores>(0, 1, {1}), "was taken 0 times");
}

}  // namespace
}  // namespace hocket::engine
