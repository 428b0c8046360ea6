// SPDX-License-Identifier: Apache-2.0
/// Back-pressure: how many tasks may be in flight before the thread that submits is held back.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <hocket/hocket.hpp>

#include "support/environment.hpp"
#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::Gate;
using Window = testing::WatchedTest;

RuntimeOptions options_with(const char* devices, std::size_t window) {
  RuntimeOptions options = testing::options_for(devices);
  options.window = window;
  return options;
}

TEST_F(Window, BoundsTheTasksInFlight) {
  for (const char* const devices : {"cpu:1", "cpu:2"}) {
    Runtime runtime(options_with(devices, 512));
    constexpr std::int64_t kTasks = 40000;
    std::atomic<std::int64_t> ran{0};
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < kTasks; ++i) {
      runtime.submit(cpu([&ran] { ran.fetch_add(1, std::memory_order_relaxed); }));
      most = std::max(most, i + 1 - ran.load(std::memory_order_relaxed));
    }
    runtime.wait();
    EXPECT_EQ(ran, kTasks);
    EXPECT_LT(most, kTasks / 4) << devices;  // a machine that stands still for a while may let some more pass
  }
}

TEST_F(Window, KeepsTheOrderThatDataDemand) {
  Runtime runtime(options_with("cpu:2", 100));
  auto data = runtime.data<std::uint32_t>({1});
  std::uint32_t expected = 1;
  runtime.submit(cpu([](Out<std::uint32_t> x) { x[0] = 1; }), data);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    runtime.submit(cpu([i](View<std::uint32_t> x) { x[0] = x[0] * 1664525u + i; }), data);
    expected = expected * 1664525u + i;
  }
  EXPECT_EQ(runtime.read(data)[0], expected);
}

TEST_F(Window, LetsPassWhereOnlyTheSubmittingThreadCanHelp) {
  for (const char* const devices : {"cpu:1", "cpu:2"}) {
    Runtime runtime(options_with(devices, 64));
    auto data = runtime.data<int>({1});
    Gate gate;
    const Task first = runtime.submit(cpu([&gate](Out<int> x) {
                                        gate.pass();
                                        x[0] = 0;
                                      }),
                                      data);
    // Else the thread that is held back might take it.
    testing::eventually([&] { return first.state() == TaskState::Running; });
    for (int i = 0; i < 1500; ++i) runtime.submit(cpu([](View<int> x) { ++x[0]; }), data);
    gate.open();
    EXPECT_EQ(runtime.read(data)[0], 1500);
  }
}

TEST_F(Window, DoesNotHoldTasksBack) {
  Runtime runtime(options_with("cpu:1", 16));
  std::atomic<int> ran{0};
  runtime
      .submit(cpu([&] {
        for (int i = 0; i < 2000; ++i) runtime.submit(cpu([&ran] { ++ran; }));
        runtime.wait();
      }))
      .get();
  EXPECT_EQ(ran, 2000);
}

TEST_F(Window, OfZeroBoundsNothing) {
  Runtime runtime(options_with("cpu:1", 0));
  Gate gate;
  const Task first = runtime.submit(cpu([&gate] { gate.pass(); }));
  testing::eventually([&] { return first.state() == TaskState::Running; });
  std::atomic<int> ran{0};
  for (int i = 0; i < 70000; ++i) runtime.submit(cpu([&ran] { ++ran; }));
  EXPECT_EQ(ran, 0);
  gate.open();
  runtime.wait();
  EXPECT_EQ(ran, 70000);
}

TEST_F(Window, IsRefusedWhereItIsNoNumber) {
  for (const char* const bad : {"many", "-1", "3k", "1.5"}) {
    const testing::Environment window("HOCKET_WINDOW", bad);
    EXPECT_TRUE(testing::holds(
        testing::message_of<InvalidArgument>([] { Runtime runtime(testing::options_for("cpu:1")); }),
        {"HOCKET_WINDOW", bad}))
        << bad;
  }
}

}  // namespace
}  // namespace hocket
