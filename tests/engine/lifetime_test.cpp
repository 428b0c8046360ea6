// SPDX-License-Identifier: Apache-2.0
// What lives how long: captures of kernels, data that only tasks still use, memory of replayed graphs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::eventually;
using testing::Gate;
using testing::options_for;
using Lifetimes = testing::WatchedTest;

TEST_F(Lifetimes, OfCapturedHandlesEndWithTheirTaskEvenWhereItUsesTheSameData) {
  Runtime runtime(options_for("cpu:1"));
  const auto token = std::make_shared<int>(0);
  std::vector<int> memory(4, 0);
  {
    auto data = runtime.data(std::span(memory));
    runtime.submit(cpu([data, token](View<int> x) {
                     for (int& element : x) element = static_cast<int>(data.size());
                   }),
                   data);
  }
  runtime.wait();
  eventually([&] { return token.use_count() == 1; });
  EXPECT_EQ(memory, std::vector<int>(4, 4));
}

TEST_F(Lifetimes, OfTheLastHandleMayEndOnTheOnlyWorkerWhileTheDataIsStillInUse) {
  Runtime runtime(options_for("cpu:1"));
  std::vector<int> memory(4, 0);
  Gate gate;
  Task last;
  {
    auto data = runtime.data(std::span(memory));
    const Task holder = runtime.submit(cpu([data, &gate] { gate.pass(); }));
    last = runtime.submit({.after = {holder}}, testing::add(), 3, data);
    // This thread's handle must go first, without waiting here: a moved one does.
    runtime.submit({.after = {holder}}, cpu([moved = std::move(data)] {}));
  }
  gate.open();
  last.get();
  runtime.wait();
  EXPECT_EQ(memory[0], 3);
}

TEST_F(Lifetimes, OfCapturesOfWithdrawnAndCancelledTasksEndToo) {
  const auto token = std::make_shared<int>(0);
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
  const Task failed = runtime.submit({.after = {blocker}}, cpu([token] { throw std::runtime_error("no"); }));
  const Task dependant = runtime.submit({.after = {failed}}, cpu([token] {}));
  const Task withdrawn = runtime.submit({.after = {blocker}}, cpu([token] {}));
  withdrawn.cancel();
  gate.open();
  EXPECT_THROW(failed.get(), TaskError);
  runtime.wait();
  eventually([&] { return token.use_count() == 1; });
  EXPECT_EQ(dependant.state(), TaskState::Cancelled);
}

TEST_F(Lifetimes, OfGraphsAndTheirCapturesEndWithTheLastRun) {
  const auto token = std::make_shared<int>(0);
  Runtime runtime(options_for("cpu:2"));
  {
    const Graph graph = runtime.record([&](Graph& g) {
      for (int i = 0; i < 4; ++i) g.submit(cpu([token] {}));
    });
    for (int i = 0; i < 1000; ++i) runtime.run(graph);
  }
  runtime.wait();
  eventually([&] { return token.use_count() == 1; });
}

TEST_F(Lifetimes, OfALongChainEndWithoutDeepRecursion) {
  Runtime runtime(options_for("cpu:2"));
  auto data = runtime.data<int>({1});
  runtime.submit(testing::set_to(), 0, data);
  for (int i = 0; i < 20000; ++i) runtime.submit(testing::add(), 1, data);
  EXPECT_EQ(runtime.read(data)[0], 20000);
}

TEST_F(Lifetimes, OfALongChainOfCancelledTasksEndWithoutDeepRecursion) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  const auto token = std::make_shared<int>(0);
  Task last = runtime.submit(cpu([&] {
    gate.pass();
    throw std::runtime_error("root");
  }));
  // More tasks follow than the window holds: else the thread that is held back might take this one.
  testing::eventually([&] { return last.state() == TaskState::Running; });
  for (int i = 0; i < 20000; ++i) last = runtime.submit({.after = {last}}, cpu([token] {}));
  gate.open();
  EXPECT_THROW(last.get(), TaskError);
  EXPECT_THROW(runtime.submit({.after = {last}}, cpu([] {})).get(), TaskError);
}

TEST_F(Lifetimes, OfAGridOfCellsGiveTheResultOfTheLoop) {
  constexpr std::size_t kCells = 24;
  constexpr int kSteps = 60;
  Runtime runtime(options_for("cpu:2"));
  std::vector<std::uint32_t> expected(kCells, 1);
  std::vector<std::uint32_t> memory(kCells, 1);
  auto cells = runtime.data(std::span(memory));
  const auto tiles = cells.tiles(1);
  const Codelet relax{"relax", cpu([](View<const std::uint32_t> left, View<std::uint32_t> mid,
                                      View<const std::uint32_t> right) {
                        mid[0] = left[0] * 3 + mid[0] * 5 + right[0] * 7;
                      })};
  for (int step = 0; step < kSteps; ++step)
    for (std::size_t i = 1; i + 1 < kCells; ++i) {
      runtime.submit(relax, tiles(i - 1), tiles(i), tiles(i + 1));
      expected[i] = expected[i - 1] * 3 + expected[i] * 5 + expected[i + 1] * 7;
    }
  const auto view = runtime.read(cells);
  for (std::size_t i = 0; i < kCells; ++i) EXPECT_EQ(view[i], expected[i]) << i;
}

TEST_F(Lifetimes, OfBorrowedMemoryLastUntilItsReadersAreOver) {
  Runtime runtime(options_for("cpu:2"));
  for (const bool read_only : {false, true}) {
    Gate gate;
    std::vector<int> memory(4, 1);
    std::atomic<bool> over{false};
    const auto reads = cpu([&](View<const int> x) {
      gate.pass();
      over = x[0] == 1;
    });
    std::thread opener;
    {
      opener = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        gate.open();
      });
      if (read_only) {
        auto constant = runtime.data(std::span<const int>(memory));
        runtime.submit(reads, constant);
      } else {
        auto variable = runtime.data(std::span<int>(memory));
        runtime.submit(reads, variable);
      }
    }
    EXPECT_TRUE(over) << "the memory could go now";
    opener.join();
  }
}

TEST_F(Lifetimes, OfTasksThatEachSubmitTheNextOneDoNotEndOneInsideTheOther) {
  constexpr int kTasks = 300000;
  Runtime runtime(options_for("cpu:2"));
  std::atomic<int> ran{0};
  std::function<void()> submit_next = [&] {
    runtime.submit(cpu([&] {
      if (++ran < kTasks) submit_next();
    }));
  };
  submit_next();
  runtime.wait();
  EXPECT_EQ(ran, kTasks);
}

TEST_F(Lifetimes, OfGraphsMayExceedThatOfTheirRuntime) {
  std::optional<Graph> graph;
  for (int round = 0; round < 3; ++round) {  // the next runtime may lie where the last one lay
    Runtime runtime(options_for("cpu:1"));
    auto data = runtime.data<int>({4});
    if (graph) {
      EXPECT_THROW(runtime.run(*graph), InvalidArgument);
      EXPECT_THROW(runtime.plan(*graph, "heft"), InvalidArgument);
      EXPECT_THROW(graph->submit(testing::set_to(), 1, data), InvalidArgument);
    } else {
      graph = runtime.record([&](Graph& recorded) { recorded.submit(testing::set_to(), 1, data); });
    }
  }
}

TEST_F(Lifetimes, OfARuntimeInsideATaskLeaveTheOuterOneItsOwnMemory) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({4});
  const Graph graph = runtime.record([&](Graph& recorded) {
    recorded.submit({.priority = 1}, testing::add(), 1, data);  // a run that needs nodes
  });
  const Task outer = runtime.submit(cpu([](Out<int> x) {
                                      Runtime inner(options_for("cpu:1"));
                                      inner.submit(cpu([] {})).get();
                                      x[0] = 1;
                                    }),
                                    data);
  runtime.run(graph).get();
  EXPECT_EQ(runtime.read(data)[0], 2);
}

TEST_F(Lifetimes, OfWhatAGraphRefusesEnd) {
  Runtime runtime(options_for("cpu:1"));
  const auto token = std::make_shared<int>(0);
  runtime.record([&](Graph& graph) {
    const Task elsewhere = runtime.submit(cpu([] {}));
    EXPECT_THROW(graph.submit({.after = {elsewhere}}, cpu([token] {})), InvalidArgument);
  });
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace hocket
