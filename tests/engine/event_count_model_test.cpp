// SPDX-License-Identifier: Apache-2.0
// Parking under every interleaving of waiters and notifiers: nobody sleeps for ever beside its work. Programs with a
// known fault must be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/event_count.hpp"
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

void expect_correct(const Exploration& exploration) {
  EXPECT_EQ(exploration.failure, "");
  EXPECT_TRUE(exploration.exhausted || testing::kExplorationsStopEarly)
      << "more than " << exploration.schedules << " schedules";
}

void expect_lost_wake_up(const Exploration& exploration) {
  EXPECT_NE(exploration.failure.find("a thread sleeps for ever"), std::string::npos)
      << "found after " << exploration.schedules << " schedules: " << exploration.failure;
}

/// How a waiter and a notifier keep their accesses in order.
enum class Order {
  kFences,             ///< a full fence on either side
  kAsymmetric,         ///< nothing in the notifier, a heavy fence in the waiter
  kNoFenceInNotifier,  ///< wrong
  kNoSecondLook,       ///< wrong: the waiter does not check between `prepare` and `wait`
};

/// Waiters that go on when a flag is up, and notifiers that raise it and wake one of them, or all.
template <class Atomics>
void flag_program(Program& program, Order order, int waiters, int notifiers, bool all) {
  struct State {
    BasicEventCount<Atomics> events;
    typename Atomics::template Atomic<std::uint64_t> flag{0};
  };
  const auto state = std::make_shared<State>();
  const auto up = [](State& s) { return s.flag.load(std::memory_order_acquire) != 0; };
  for (int i = 0; i < waiters; ++i)
    program.thread("waiter " + std::to_string(i), [state, order, up] {
      while (!up(*state)) {
        const std::uint64_t ticket = state->events.prepare();
        if (order == Order::kAsymmetric) Atomics::heavy_fence();
        if (order != Order::kNoSecondLook && up(*state)) {
          state->events.cancel();
          return;
        }
        state->events.wait(ticket);
      }
    });
  for (int i = 0; i < notifiers; ++i)
    program.thread("notifier " + std::to_string(i), [state, order, all] {
      state->flag.store(1, std::memory_order_release);
      if (order == Order::kFences || order == Order::kNoSecondLook) Atomics::fence();
      if (all)
        state->events.notify_all();
      else
        state->events.notify_one();
    });
  program.afterwards([state] {
    if (state->events.has_waiters()) fail("a waiter is counted that has gone");
  });
}

template <Flaw flaw = Flaw::kNone>
Exploration explore_flag(Order order, int waiters = 1, int notifiers = 1, bool all = false) {
  return explore([&](Program& program) {
    flag_program<FlawedModelAtomics<flaw>>(program, order, waiters, notifiers, all);
  });
}

TEST(EventCountModel, LosesNoWakeUpOfOneWaiter) { expect_correct(explore_flag(Order::kFences)); }

TEST(EventCountModel, LosesNoWakeUpBetweenTwoNotifiers) {
  expect_correct(explore_flag(Order::kFences, 1, 2));
}

TEST(EventCountModel, WakesAllOfTwoWaiters) { expect_correct(explore_flag(Order::kFences, 2, 1, true)); }

TEST(EventCountModel, LosesNoWakeUpWithAsymmetricFences) {
  expect_correct(explore_flag(Order::kAsymmetric));
  expect_correct(explore_flag(Order::kAsymmetric, 2, 1, true));
}

TEST(EventCountModel, IsFoundToLoseAWakeUpWithoutTheSecondLook) {
  expect_lost_wake_up(explore_flag(Order::kNoSecondLook));
}

TEST(EventCountModel, IsFoundToLoseAWakeUpWithoutTheNotifiersFence) {
  expect_lost_wake_up(explore_flag(Order::kNoFenceInNotifier));
}

TEST(EventCountModel, IsFoundToLoseAWakeUpWhereOneOfTwoWaitersIsNotified) {
  expect_lost_wake_up(explore_flag(Order::kFences, 2, 1, false));
}

TEST(EventCountModel, IsFoundToLoseAWakeUpWhereASleeperDoesNotCompareTheWord) {
  expect_lost_wake_up(explore_flag<Flaw::kSleepsWithoutLooking>(Order::kFences));
}

TEST(EventCountModel, IsFoundToLoseAWakeUpWhereNobodyWakesTheSleeper) {
  expect_lost_wake_up(explore_flag<Flaw::kNoWake>(Order::kFences));
}

TEST(EventCountModel, SaysWhetherAWaitEndedWithANotification) {
  bool notified_seen = false;
  bool expired_seen = false;
  const Exploration exploration = explore([&](Program& program) {
    struct State {
      BasicEventCount<testing::ModelAtomics> events;
      bool woke = false;
      bool notified = false;
    };
    const auto state = std::make_shared<State>();
    program.thread("waiter", [state] {
      const std::uint64_t ticket = state->events.prepare();
      state->notified = state->events.wait_for(ticket, Seconds{1.0});
    });
    program.thread("notifier", [state] { state->woke = state->events.notify_one(); });
    program.afterwards([&, state] {
      (state->notified ? notified_seen : expired_seen) = true;
      if (state->woke && !state->notified) fail("the notifier woke a waiter that does not know it");
    });
  });
  expect_correct(exploration);
  EXPECT_TRUE(notified_seen);
  EXPECT_TRUE(expired_seen);
}

// ---- together with the queues, as workers use them ---------------------------------------------------------------

/// An owner pushes values and wakes a worker for each; workers take one value each and sleep while there is none.
template <template <class> class Queue>
Exploration explore_workers(int values, int workers, Order order) {
  using Atomics = testing::ModelAtomics;
  return explore([&](Program& program) {
    struct State {
      BasicEventCount<Atomics> events;
      Queue<Atomics> queue{2};
      std::vector<std::uint64_t> taken;
    };
    const auto state = std::make_shared<State>();
    state->taken.resize(static_cast<std::size_t>(workers));
    const auto take = [](State& s, int worker) {
      std::uint64_t value = 0;
      if constexpr (requires { s.queue.take(); })
        value = s.queue.take();
      else
        value = s.queue.steal();
      s.taken[static_cast<std::size_t>(worker)] = value;
      return value != 0;
    };
    program.thread("owner", [state, values, order] {
      for (int value = 1; value <= values; ++value) {
        state->queue.push(static_cast<std::uint64_t>(value));
        if (order == Order::kFences) Atomics::fence();
        state->events.notify_one();
      }
    });
    for (int i = 0; i < workers; ++i)
      program.thread("worker " + std::to_string(i), [state, take, order, i] {
        while (!take(*state, i)) {
          const std::uint64_t ticket = state->events.prepare();
          if (order == Order::kAsymmetric) Atomics::heavy_fence();
          if (take(*state, i)) {
            state->events.cancel();
            return;
          }
          state->events.wait(ticket);
        }
      });
    program.afterwards([state] {
      std::vector<std::uint64_t> taken = state->taken;
      std::sort(taken.begin(), taken.end());
      for (std::size_t i = 0; i < taken.size(); ++i)
        if (taken[i] != i + 1) fail("the workers did not get each value once");
    });
  });
}

TEST(ParkingModel, WakesAWorkerForEachSubmission) {
  expect_correct(explore_workers<BasicSubmissionQueue>(1, 1, Order::kFences));
  expect_correct(explore_workers<BasicSubmissionQueue>(2, 2, Order::kFences));
}

TEST(ParkingModel, WakesAWorkerForEachSubmissionWithAsymmetricFences) {
  expect_correct(explore_workers<BasicSubmissionQueue>(2, 2, Order::kAsymmetric));
}

TEST(ParkingModel, WakesAThiefForEachPush) {
  expect_correct(explore_workers<BasicWorkStealingDeque>(2, 2, Order::kFences));
}

TEST(ParkingModel, WakesAThiefForEachPushWithAsymmetricFences) {
  expect_correct(explore_workers<BasicWorkStealingDeque>(2, 2, Order::kAsymmetric));
}

TEST(ParkingModel, IsFoundToLoseAWakeUpWithoutTheOwnersFence) {
  expect_lost_wake_up(explore_workers<BasicSubmissionQueue>(1, 1, Order::kNoFenceInNotifier));
  expect_lost_wake_up(explore_workers<BasicWorkStealingDeque>(1, 1, Order::kNoFenceInNotifier));
}

}  // namespace
}  // namespace hocket::engine
