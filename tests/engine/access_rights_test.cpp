// SPDX-License-Identifier: Apache-2.0
/// The right of one thread to use the records of accesses without locks, which goes from hand to hand.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <hocket/hocket.hpp>
#include <thread>
#include <vector>

#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using Rights = testing::WatchedTest;

/// Each thread submits in bursts long enough for it to get the right, others come between. Every task adds to a sum
/// that it has to itself only by its dependencies.
TEST_F(Rights, GoFromThreadToThreadWithoutLosingAnOrder) {
  constexpr int kThreads = 4;
  constexpr int kBursts = 6;
  constexpr int kTasks = 700;  // more than twice as many as the engine counts before it gives the right away
  Runtime runtime(testing::options_for("cpu:2"));
  auto shared = runtime.data<std::uint64_t>({1});
  auto other = runtime.data<std::uint64_t>({1});
  runtime.submit(cpu([](Out<std::uint64_t> x, Out<std::uint64_t> y) { x[0] = y[0] = 0; }), shared, other);
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int burst = 0; burst < kBursts; ++burst) {
        // Every second burst alone, the others all at once.
        if (burst % 2 == 0)
          while (turn.load() != burst / 2 * kThreads + t) std::this_thread::yield();
        for (int i = 0; i < kTasks; ++i)
          runtime.submit(cpu([](View<std::uint64_t> x, View<std::uint64_t> y) {
                           ++x[0];
                           y[0] += x[0];
                         }),
                         shared, other);
        if (burst % 2 == 0) turn.fetch_add(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  constexpr std::uint64_t kAll = std::uint64_t{kThreads} * kBursts * kTasks;
  EXPECT_EQ(runtime.read(shared)[0], kAll);
  EXPECT_EQ(runtime.read(other)[0], kAll * (kAll + 1) / 2);
}

/// Data end on other threads than those that submit what uses them.
TEST_F(Rights, AreWithdrawnWhereDataEndElsewhere) {
  Runtime runtime(testing::options_for("cpu:2"));
  std::uint64_t sum = 0;
  auto total = runtime.data(std::span<std::uint64_t>(&sum, 1));
  for (int round = 0; round < 40; ++round) {
    std::vector<Data<std::uint64_t>> data;
    for (int i = 0; i < 50; ++i) {
      data.push_back(runtime.data<std::uint64_t>({1}));
      runtime.submit(cpu([](Out<std::uint64_t> x) { x[0] = 1; }), data.back());
      runtime.submit(cpu([](View<const std::uint64_t> x, View<std::uint64_t> y) { y[0] += x[0]; }),
                     data.back(), total);
    }
    std::thread ends([data = std::move(data)]() mutable { data.clear(); });
    for (int i = 0; i < 300; ++i) runtime.submit(cpu([](View<std::uint64_t> y) { ++y[0]; }), total);
    ends.join();
  }
  EXPECT_EQ(runtime.read(total)[0], 40u * (50 + 300));
}

/// One task uses a whole, parts of it, and two parts that cut each other: each is counted once.
TEST_F(Rights, CoverPartsThatCutEachOther) {
  Runtime runtime(testing::options_for("cpu:2"));
  auto data = runtime.data<std::uint64_t>({12});
  const auto sum = [](View<const std::uint64_t> x) {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < x.size(); ++i) result += x[i];
    return result;
  };
  for (std::uint64_t round = 1; round <= 200; ++round) {
    runtime.submit(cpu([round](Out<std::uint64_t> x) {
                     for (std::size_t i = 0; i < x.size(); ++i) x[i] = round;
                   }),
                   data);
    std::atomic<std::uint64_t> found{0};
    const Task reads =
        runtime.submit(cpu([&](View<const std::uint64_t> a, View<const std::uint64_t> b,
                               View<const std::uint64_t> whole) { found = sum(a) + sum(b) + sum(whole); }),
                       data.block({round % 3}, {6}), data.block({3 + round % 4}, {5}), data);
    reads.get();
    EXPECT_EQ(found, round * (6 + 5 + 12));
  }
}

}  // namespace
}  // namespace hocket
