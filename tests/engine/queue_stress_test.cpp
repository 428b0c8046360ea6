// SPDX-License-Identifier: Apache-2.0
// The lock-free queues and parking with real threads: each value comes out once, with what was written before it
// went in, and no thread sleeps on beside its work.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/asymmetric_fence.hpp"
#include "engine/event_count.hpp"
#include "engine/submission_queue.hpp"
#include "engine/work_stealing_deque.hpp"
#include "support/watchdog.hpp"

namespace hocket::engine {
namespace {

using DequeStress = testing::WatchedTest;
using SubmissionQueueStress = testing::WatchedTest;
using EventCountStress = testing::WatchedTest;
using AsymmetricFence = testing::WatchedTest;

constexpr std::uint64_t kValues = kUnderThreadSanitizer ? 200'000 : 2'000'000;
constexpr int kTakers = 3;

/// What the values stand for. Plain memory: a value that is not published right is a data race.
class Payloads {
 public:
  explicit Payloads(std::uint64_t count) : words_(count + 1), taken_(count + 1) {}

  void prepare(std::uint64_t value) { words_[value] = ~value; }
  void take(std::uint64_t value) {
    ASSERT_LT(value, words_.size());
    EXPECT_EQ(words_[value], ~value);
    ++taken_[value];
  }
  void expect_each_once() const {
    for (std::size_t value = 1; value < taken_.size(); ++value)
      ASSERT_EQ(taken_[value], 1) << "times that " << value << " was taken";
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<int> taken_;
};

TEST_F(DequeStress, GivesEachValueOnceToItsOwnerOrAThief) {
  WorkStealingDeque deque(2);
  Payloads payloads(kValues);
  std::atomic<std::uint64_t> left{kValues};
  std::vector<std::thread> thieves;
  for (int i = 0; i < kTakers; ++i)
    thieves.emplace_back([&] {
      std::uint64_t last = 0;
      while (left.load(std::memory_order_relaxed) > 0) {
        const std::uint64_t value = deque.steal();
        if (value == 0) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_GT(value, last) << "stolen out of order";
        last = value;
        payloads.take(value);
        left.fetch_sub(1, std::memory_order_relaxed);
      }
    });
  // Runs of pushes and of pops of changing length: the deque is empty, has one value and grows, again and again.
  std::uint64_t pushed = 0;
  std::uint64_t random = 1;
  const auto pop = [&] {
    const std::uint64_t value = deque.pop();
    if (value == 0) return false;
    payloads.take(value);
    left.fetch_sub(1, std::memory_order_relaxed);
    return true;
  };
  while (pushed < kValues) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t run = (random >> 60) == 0 ? 300 : random >> 61;
    for (std::uint64_t i = 0; i < run && pushed < kValues; ++i) {
      payloads.prepare(++pushed);
      deque.push(pushed);
    }
    const std::uint64_t pops = random >> 40 & 7;
    for (std::uint64_t i = 0; i < pops; ++i) pop();
  }
  while (pop()) {
  }
  for (std::thread& thief : thieves) thief.join();
  payloads.expect_each_once();
  EXPECT_EQ(deque.size_hint(), 0U);
}

TEST_F(SubmissionQueueStress, GivesEachValueOnceAndEachTakerRisingValues) {
  SubmissionQueue queue(2);
  Payloads payloads(kValues);
  std::vector<std::thread> takers;
  for (int i = 0; i < kTakers; ++i)
    takers.emplace_back([&, most = static_cast<std::size_t>(1 + 7 * i)] {
      std::vector<std::uint64_t> batch(most);
      std::uint64_t last = 0;
      while (queue.taken() < kValues) {
        const std::size_t count = queue.take_some(batch.data(), most);
        if (count == 0) std::this_thread::yield();
        for (std::size_t k = 0; k < count; ++k) {
          EXPECT_TRUE(k == 0 ? batch[k] > last : batch[k] == last + 1) << "taken out of order";
          last = batch[k];
          payloads.take(batch[k]);
        }
      }
    });
  for (std::uint64_t value = 1; value <= kValues; ++value) {
    payloads.prepare(value);
    queue.push(value);
    if (value % 1024 == 0) std::this_thread::yield();  // lets the takers catch up: slots are reused
  }
  for (std::thread& taker : takers) taker.join();
  payloads.expect_each_once();
  EXPECT_EQ(queue.pushed(), kValues);
  EXPECT_EQ(queue.taken(), kValues);
  EXPECT_EQ(queue.take(), 0U);
}

/// A submitter that wakes a worker for each value, and workers that sleep when they find none.
void feed_sleeping_workers(bool asymmetric) {
  constexpr std::uint64_t kSubmissions = kUnderThreadSanitizer ? 10'000 : 20'000;
  SubmissionQueue queue(2);
  EventCount events;
  Payloads payloads(kSubmissions);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> finished{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < kTakers; ++i)
    workers.emplace_back([&] {
      const auto work = [&] {
        const std::uint64_t value = queue.take();
        if (value == 0) return false;
        payloads.take(value);
        finished.fetch_add(1, std::memory_order_release);
        return true;
      };
      while (true) {
        if (work()) continue;
        const std::uint64_t ticket = events.prepare();
        if (asymmetric) heavy_fence();
        if (work()) {
          events.cancel();
        } else if (over.load(std::memory_order_relaxed)) {
          events.cancel();
          return;
        } else {
          events.wait(ticket);
        }
      }
    });
  for (std::uint64_t value = 1; value <= kSubmissions; ++value) {
    payloads.prepare(value);
    queue.push(value);
    asymmetric ? light_fence() : full_fence();
    events.notify_one();
    // Without this wait a lost wake-up would be made up for by the next one.
    if (value % 4 == 0)
      while (finished.load(std::memory_order_acquire) < value) std::this_thread::yield();
  }
  over.store(true, std::memory_order_relaxed);
  full_fence();
  events.notify_all();
  for (std::thread& worker : workers) worker.join();
  payloads.expect_each_once();
  EXPECT_FALSE(events.has_waiters());
}

TEST_F(EventCountStress, WakesAWorkerForEachSubmission) { feed_sleeping_workers(false); }

TEST_F(EventCountStress, WakesAWorkerForEachSubmissionWithAsymmetricFences) {
  prepare_asymmetric_fences();
  feed_sleeping_workers(true);
}

TEST_F(EventCountStress, WakesNobodyWhereNobodyWaits) {
  EventCount events;
  EXPECT_FALSE(events.has_waiters());
  EXPECT_FALSE(events.notify_one());
  EXPECT_EQ(events.notify_all(), 0);
  events.prepare();
  EXPECT_TRUE(events.has_waiters());
  EXPECT_FALSE(events.notify_one());  // announced, but not asleep
  events.cancel();
  EXPECT_FALSE(events.has_waiters());
}

TEST_F(EventCountStress, DoesNotSleepAfterANotificationSinceTheTicket) {
  EventCount events;
  const std::uint64_t ticket = events.prepare();
  events.notify_one();
  events.wait(ticket);
  EXPECT_FALSE(events.has_waiters());
}

TEST_F(EventCountStress, SaysWhetherAWaitEndedInTime) {
  EventCount events;
  EXPECT_FALSE(events.wait_for(events.prepare(), Seconds{0.005}));
  EXPECT_FALSE(events.wait_for(events.prepare(), Seconds{0.0}));
  EXPECT_FALSE(events.wait_for(events.prepare(), Seconds{-1.0}));
  const std::uint64_t ticket = events.prepare();
  events.notify_all();
  EXPECT_TRUE(events.wait_for(ticket, Seconds{1e300}));
  EXPECT_FALSE(events.has_waiters());
}

TEST_F(EventCountStress, WakesASleeperBeforeItsDeadline) {
  EventCount events;
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    while (!over.load(std::memory_order_acquire)) {
      const std::uint64_t ticket = events.prepare();
      if (over.load(std::memory_order_acquire))
        events.cancel();
      else
        EXPECT_TRUE(events.wait_for(ticket, Seconds{1e6}));
    }
  });
  while (!events.notify_one()) std::this_thread::yield();  // true once the thread sleeps
  over.store(true, std::memory_order_release);
  full_fence();
  events.notify_all();
  sleeper.join();
  EXPECT_FALSE(events.has_waiters());
}

TEST_F(AsymmetricFence, LetsOneOfTwoThreadsSeeTheOther) {
  prepare_asymmetric_fences();
  constexpr std::uint64_t kRounds = kUnderThreadSanitizer ? 2'000 : 20'000;
  alignas(kNoSharingBytes) std::atomic<std::uint64_t> hurried{0};
  alignas(kNoSharingBytes) std::atomic<std::uint64_t> rare{0};
  alignas(kNoSharingBytes) std::atomic<std::uint64_t> arrived{0};
  std::vector<std::uint64_t> seen_by_hurried(kRounds + 1);
  std::vector<std::uint64_t> seen_by_rare(kRounds + 1);
  const auto meet = [&](std::uint64_t round) {
    arrived.fetch_add(1, std::memory_order_acq_rel);
    for (int spins = 0; arrived.load(std::memory_order_acquire) < 2 * round; ++spins)
      if (spins > 200) std::this_thread::yield();
  };
  std::thread other([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      meet(round);
      rare.store(round, std::memory_order_relaxed);
      heavy_fence();
      seen_by_rare[round] = hurried.load(std::memory_order_relaxed);
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    meet(round);
    hurried.store(round, std::memory_order_relaxed);
    light_fence();
    seen_by_hurried[round] = rare.load(std::memory_order_relaxed);
  }
  other.join();
  for (std::uint64_t round = 1; round <= kRounds; ++round)
    ASSERT_TRUE(seen_by_hurried[round] >= round || seen_by_rare[round] >= round)
        << "in round " << round << " neither thread saw the other";
}

}  // namespace
}  // namespace hocket::engine
