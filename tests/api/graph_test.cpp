// SPDX-License-Identifier: Apache-2.0
// Recorded graphs: recording, checking, planning, and running again and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::Gate;
using testing::holds;
using testing::message_of;
using testing::options_for;

class Graphs : public testing::WatchedTest {
 protected:
  Runtime runtime_{options_for("cpu:2")};
};

std::string all_messages(const std::vector<GraphDiagnostic>& diagnostics) {
  std::string text;
  for (const GraphDiagnostic& diagnostic : diagnostics)
    text += (diagnostic.severity == GraphDiagnostic::Severity::Error ? "error: " : "warning: ") +
            diagnostic.message + "\n";
  return text;
}

TEST_F(Graphs, DoNothingWhileTheyAreRecorded) {
  std::atomic<int> ran{0};
  const Graph graph = runtime_.record([&](Graph& g) {
    for (int i = 0; i < 3; ++i) g.submit(cpu([&] { ++ran; }));
  });
  EXPECT_EQ(graph.size(), 3u);
  EXPECT_EQ(graph.dependencies(), 0u);
  runtime_.wait();
  EXPECT_EQ(ran, 0);
  runtime_.run(graph).get();
  EXPECT_EQ(ran, 3);
}

TEST_F(Graphs, InferTheSameDependenciesAsStreamingSubmission) {
  auto a = runtime_.data<int>({4});
  auto b = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit({.name = "w"}, testing::set_to(), 1, a);
    g.submit({.name = "r1"}, testing::copy(), a, b);
    g.submit({.name = "r2"}, cpu([](View<const int>) {}), a);
    g.submit({.name = "w2"}, testing::add(), 1, a);
  });
  EXPECT_EQ(graph.dependencies(), 5u);  // w->r1 w->r2 w->w2 r1->w2 r2->w2
}

TEST_F(Graphs, RunManyTimesWithTheSameResultAsTheStream) {
  std::vector<int> streamed(20, 0);
  std::vector<int> replayed(20, 0);
  auto s = runtime_.data(std::span(streamed));
  auto r = runtime_.data(std::span(replayed));
  const Codelet step{"step", cpu([](int value, View<int> x) {
                       for (int& element : x) element = (element * 3 + value) % 1000003;
                     })};
  const auto build = [&](Submitter& to, const Data<int>& data) {
    const auto tiles = data.tiles(7);
    to.submit(step, 1, data);
    for (const auto& tile : tiles) to.submit(step, 2, tile);
    to.submit(step, 3, data.block({5}, {10}));
  };
  const Graph graph = runtime_.record([&](Graph& g) { build(g, r); });
  for (int round = 0; round < 100; ++round) {
    build(runtime_, s);
    runtime_.run(graph);
  }
  const auto one = runtime_.read(s);
  const auto other = runtime_.read(r);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), other.begin()));
}

TEST_F(Graphs, AreOrderedWithTheTasksAroundThem) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  const Graph doubled = runtime_.record([&](Graph& g) {
    g.submit(cpu([](View<int> x) {
               for (int& element : x) element *= 2;
             }),
             data);
  });
  runtime_.submit(testing::set_to(), 1, data);
  runtime_.run(doubled);
  runtime_.submit(testing::add(), 5, data);
  runtime_.run(doubled);
  EXPECT_EQ(runtime_.read(data)[0], 14);
}

TEST_F(Graphs, RunTwiceAtOnceOnDifferentData) {
  // Two graphs whose tasks meet: both must be in flight at the same time.
  auto a = runtime_.data<int>({1});
  auto b = runtime_.data<int>({1});
  std::atomic<int> arrived{0};
  const auto meet = [&](const Data<int>& data) {
    return runtime_.record([&](Graph& g) {
      g.submit(cpu([&arrived](Out<int> x) {
                 x[0] = ++arrived;
                 testing::eventually([&] { return arrived >= 2; });
               }),
               data);
    });
  };
  const Graph first = meet(a);
  const Graph second = meet(b);
  const Task one = runtime_.run(first);
  const Task two = runtime_.run(second);
  one.get();
  two.get();
  EXPECT_EQ(arrived, 2);
}

TEST_F(Graphs, RunTwiceAtOnceFromSeveralThreads) {
  std::vector<int> memory(1, 0);
  auto data = runtime_.data(std::span(memory));
  const Graph graph = runtime_.record([&](Graph& g) {
    for (int i = 0; i < 4; ++i) g.submit(testing::add(), 1, data);
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) runtime_.run(graph);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runtime_.read(data)[0], 3 * 50 * 4);
}

TEST_F(Graphs, RunWithAPlan) {
  std::vector<int> memory(8, 0);
  auto data = runtime_.data(std::span(memory));
  const Graph graph = runtime_.record([&](Graph& g) {
    for (const auto& tile : data.tiles(2)) g.submit(testing::add(), 1, tile);
    g.submit(testing::add(), 10, data);
  });
  const Plan plan = runtime_.plan(graph, "heft");
  EXPECT_EQ(plan.planner, "heft");
  EXPECT_EQ(plan.schedule.placements.size(), 5u);
  EXPECT_TRUE(validate(plan.problem, plan.schedule).empty());
  for (int i = 0; i < 10; ++i) runtime_.run(graph, plan);
  EXPECT_EQ(runtime_.read(data)[7], 110);
}

TEST_F(Graphs, RefusePlannersThatAreUnknownAndPlansForOtherGraphs) {
  auto data = runtime_.data<int>({4});
  const Graph one = runtime_.record([&](Graph& g) { g.submit(testing::set_to(), 1, data); });
  const Graph two = runtime_.record([&](Graph& g) {
    g.submit(testing::set_to(), 1, data);
    g.submit(testing::add(), 1, data);
  });
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.plan(one, "oracle"); }), {"oracle", "heft"}));
  const Plan plan = runtime_.plan(one, "heft");
  EXPECT_THROW(runtime_.run(two, plan), InvalidArgument);
}

TEST_F(Graphs, CanNoLongerBeChangedOnceTheyHaveRun) {
  auto data = runtime_.data<int>({4});
  Graph graph = runtime_.record([&](Graph& g) { g.submit(testing::set_to(), 1, data); });
  EXPECT_NO_THROW(graph.submit(testing::add(), 1, data));
  runtime_.run(graph);
  EXPECT_TRUE(
      holds(message_of<InvalidArgument>([&] { graph.submit(testing::add(), 1, data); }), {"no longer"}));
  EXPECT_EQ(runtime_.read(data)[0], 2);
}

TEST_F(Graphs, MayBeEmpty) {
  const Graph graph = runtime_.record([](Graph&) {});
  EXPECT_EQ(graph.size(), 0u);
  EXPECT_TRUE(graph.validate().empty());
  for (int i = 0; i < 3; ++i) runtime_.run(graph).get();
  const Plan plan = runtime_.plan(graph, "heft");
  runtime_.run(graph, plan).get();
}

TEST_F(Graphs, FollowExplicitOrder) {
  std::vector<int> order;
  const Graph graph = runtime_.record([&](Graph& g) {
    const Task a = g.submit(cpu([&] { order.push_back(1); }));
    const Task b = g.submit({.after = {a}}, cpu([&] { order.push_back(2); }));
    g.submit({.after = {a, b}}, cpu([&] { order.push_back(3); }));
    EXPECT_EQ(a.state(), TaskState::Recorded);
    EXPECT_THROW(a.get(), InvalidArgument);
  });
  EXPECT_EQ(graph.dependencies(), 3u);
  runtime_.run(graph).get();
  runtime_.run(graph).get();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 1, 2, 3}));
}

TEST_F(Graphs, RefuseToFollowTasksOfOtherGraphsAndOfTheStream) {
  const Task streamed = runtime_.submit(cpu([] {}));
  Task recorded;
  runtime_.record([&](Graph& g) { recorded = g.submit(cpu([] {})); });
  runtime_.record([&](Graph& g) {
    EXPECT_THROW(g.submit({.after = {streamed}}, cpu([] {})), InvalidArgument);
    EXPECT_THROW(g.submit({.after = {recorded}}, cpu([] {})), InvalidArgument);
    EXPECT_THROW(g.submit({.after = {Task()}}, cpu([] {})), InvalidArgument);
  });
  EXPECT_THROW(runtime_.submit({.after = {recorded}}, cpu([] {})), InvalidArgument);
}

TEST_F(Graphs, RefuseAnotherRuntime) {
  Runtime other(options_for("cpu:1"));
  const Graph graph = other.record([](Graph& g) { g.submit(cpu([] {})); });
  EXPECT_THROW(runtime_.run(graph), InvalidArgument);
  EXPECT_THROW(runtime_.plan(graph, "heft"), InvalidArgument);
}

TEST_F(Graphs, AreDroppedWhileTheyRun) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  Gate gate;
  Task run;
  {
    const Graph graph = runtime_.record([&](Graph& g) {
      g.submit(cpu([&](View<int>) { gate.pass(); }), data);
      for (int i = 0; i < 10; ++i) g.submit(testing::add(), 1, data);
    });
    run = runtime_.run(graph);
  }
  gate.open();
  run.get();
  EXPECT_EQ(runtime_.read(data)[0], 10);
}

TEST_F(Graphs, KeepTheirDataAlive) {
  auto result = runtime_.data<int>({4});
  Graph graph = [&] {
    auto temporary = runtime_.data<int>({4});
    return runtime_.record([&](Graph& g) {
      g.submit(testing::set_to(), 3, temporary);
      g.submit(testing::copy(), temporary, result);
    });
  }();
  for (int i = 0; i < 3; ++i) runtime_.run(graph);
  EXPECT_EQ(runtime_.read(result)[1], 3);
}

TEST_F(Graphs, AreDrawnInDot) {
  auto data = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit({.name = "make \"it\""}, testing::set_to(), 1, data);
    g.submit({.name = "look"}, cpu([](View<const int>) {}), data);
    g.submit({.name = "again"}, testing::set_to(), 1, data);
  });
  EXPECT_TRUE(holds(graph.dot(),
                    {"digraph", R"(make \"it\")", "look", "t0 -> t1;", "t1 -> t2 [style=dashed]", "}\n"}));
}

// ---- checking
// -----------------------------------------------------------------------------------------------------

TEST_F(Graphs, ThatAreSoundHaveNothingToSay) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  auto out = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit(testing::add(), 1, data);
    g.submit(testing::copy(), data, out);
  });
  EXPECT_EQ(all_messages(graph.validate()), "");
}

TEST_F(Graphs, SayWhichTaskReadsDataThatNothingHasWritten) {
  auto data = runtime_.data<int>({4}, {.name = "void"});
  const Graph graph =
      runtime_.record([&](Graph& g) { g.submit({.name = "hasty"}, testing::add(), 1, data); });
  EXPECT_TRUE(holds(all_messages(graph.validate()), {"error", "hasty", "'void'"}));
  EXPECT_THROW(runtime_.run(graph), UninitialisedRead);
  runtime_.submit(testing::set_to(), 1, data);
  EXPECT_EQ(all_messages(graph.validate()), "") << "by now an earlier task writes it";
  runtime_.run(graph);
  EXPECT_EQ(runtime_.read(data)[0], 2);
}

TEST_F(Graphs, SayWhichTaskNoDeviceCanRun) {
  using OpenclOnly = Codelet<void(Out<int>)>;
  const OpenclOnly codelet{"elsewhere", opencl{"__kernel void k(__global int* x, ulong n) {}", "k"}};
  auto data = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) { g.submit(codelet, data); });
  EXPECT_TRUE(holds(all_messages(graph.validate()), {"error", "elsewhere", "opencl", "cpu:0"}));
  EXPECT_THROW(runtime_.run(graph), NoEligibleDevice);
  EXPECT_THROW(runtime_.plan(graph, "heft"), NoEligibleDevice);
}

TEST_F(Graphs, WarnOfResultsThatNothingReads) {
  auto data = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit({.name = "wasted"}, testing::set_to(), 1, data);
    g.submit({.name = "kept"}, testing::set_to(), 2, data);
  });
  const std::string messages = all_messages(graph.validate());
  EXPECT_TRUE(holds(messages, {"warning", "wasted"}));
  EXPECT_EQ(messages.find("kept"), std::string::npos);
}

// ---- failing
// ------------------------------------------------------------------------------------------------------

TEST_F(Graphs, ThatFailCanRunAgain) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  auto out = runtime_.data<int>({4});
  std::atomic<bool> fail{true};
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit({.name = "reset"}, testing::set_to(), 1, data);
    g.submit({.name = "moody"}, cpu([&](View<int> x) {
               if (fail) throw std::runtime_error("not today");
               x[0] = 5;
             }),
             data);
    g.submit({.name = "use"}, testing::copy(), data, out);
  });
  for (int round = 0; round < 5; ++round) {
    fail = true;
    const Task run = runtime_.run(graph);
    try {
      run.get();
      ADD_FAILURE() << "no exception";
    } catch (const TaskError& error) {
      EXPECT_TRUE(holds(error.what(), {"moody", "not today"}));
      EXPECT_EQ(error.failure(), TaskFailure::Failed);
    }
    EXPECT_NO_THROW(runtime_.wait()) << "it has been reported";
    EXPECT_THROW(runtime_.read(out), TaskError);
    fail = false;
    EXPECT_NO_THROW(runtime_.run(graph).get());
    EXPECT_EQ(runtime_.read(out)[0], 5);
  }
}

TEST_F(Graphs, ReportAFailureByWait) {
  auto data = runtime_.data<int>({4});
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit(testing::set_to(), 1, data);
    g.submit({.name = "bad"}, testing::broken(), data);
  });
  runtime_.run(graph);
  EXPECT_TRUE(holds(message_of<TaskError>([&] { runtime_.wait(); }), {"bad", "broken kernel"}));
  EXPECT_NO_THROW(runtime_.wait());
}

TEST_F(Graphs, AreNotRunOnFailedData) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  std::atomic<int> ran{0};
  const Graph graph = runtime_.record([&](Graph& g) {
    g.submit(cpu([&](View<int>) { ++ran; }), data);
    g.submit(cpu([&] { ++ran; }));
  });
  runtime_.submit({.name = "before"}, testing::broken(), data);
  EXPECT_TRUE(holds(message_of<TaskError>([&] { runtime_.run(graph).get(); }), {"before"}));
  EXPECT_EQ(ran, 0);
  runtime_.submit(testing::set_to(), 1, data);
  runtime_.run(graph).get();
  EXPECT_EQ(ran, 2);
}

TEST_F(Graphs, ThatAreCancelledCanRunAgain) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  Gate gate;
  const Graph graph = runtime_.record([&](Graph& g) {
    for (int i = 0; i < 5; ++i) g.submit(testing::add(), 1, data);
  });
  runtime_.submit(cpu([&](View<int>) { gate.pass(); }), data);
  const Task run = runtime_.run(graph);
  runtime_.cancel();
  gate.open();
  EXPECT_THROW(run.get(), TaskError);
  EXPECT_EQ(run.state(), TaskState::Cancelled);
  runtime_.submit(testing::set_to(), 0, data);
  runtime_.run(graph).get();
  EXPECT_EQ(runtime_.read(data)[0], 5);
}

TEST_F(Graphs, MayRunInsideATask) {
  std::vector<int> memory(4, 0);
  auto data = runtime_.data(std::span(memory));
  const Graph graph = runtime_.record([&](Graph& g) {
    for (int i = 0; i < 5; ++i) g.submit(testing::add(), 1, data);
  });
  const Task outer = runtime_.submit(cpu([&] {
    runtime_.run(graph);
    runtime_.wait();
  }));
  outer.get();
  EXPECT_EQ(runtime_.read(data)[0], 5);
}

TEST_F(Graphs, RefuseThePlanOfAnotherGraph) {
  auto data = runtime_.data<int>({4});
  const auto record = [&] {
    return runtime_.record([&](Graph& graph) { graph.submit(testing::set_to(), 1, data); });
  };
  const Graph first = record();
  const Graph second = record();
  Plan plan = runtime_.plan(first, "heft");
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.run(second, plan); }), {"another graph"}));
  EXPECT_NO_THROW(runtime_.run(first, plan).get());
  plan.graph.reset();  // of whichever graph
  EXPECT_NO_THROW(runtime_.run(second, plan).get());
  plan.schedule.placements[0].device = 70;
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.run(second, plan); }),
                    {"device 70", "cannot run it"}));
}

TEST_F(Graphs, AreCheckedAndPlannedByManyThreadsWhileTheyRun) {
  for (int round = 0; round < 50; ++round) {
    auto data = runtime_.data<int>({4});
    const Graph graph = runtime_.record([&](Graph& recorded) {
      recorded.submit(testing::set_to(), 1, data);
      for (int i = 0; i < 30; ++i) recorded.submit(testing::add(), 1, data);
    });
    std::vector<std::thread> threads;
    threads.emplace_back([&] { EXPECT_TRUE(graph.validate().empty()); });
    threads.emplace_back([&] { EXPECT_EQ(graph.dependencies(), 30u); });
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { runtime_.plan(graph, "heft"); });
    runtime_.run(graph).get();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(runtime_.read(data)[0], 31);
  }
}

TEST_F(Graphs, RunWhereTheFunctionThatTellsTheirWorkThrows) {
  auto data = runtime_.data<int>({4});
  Codelet lost = Codelet{"lost", cpu([](View<int> x) { ++x[0]; })}.with_work(
      [](std::span<const Shape>) -> Work { throw std::runtime_error("no idea"); });
  runtime_.submit(testing::set_to(), 1, data);
  EXPECT_NO_THROW(runtime_.submit(lost, data).get());
  EXPECT_NO_THROW(runtime_.submit({.priority = 1}, lost, data).get());
  const Graph graph = runtime_.record([&](Graph& recorded) { recorded.submit(lost, data); });
  EXPECT_NO_THROW(runtime_.run(graph).get());
  EXPECT_EQ(runtime_.read(data)[0], 4);
}

}  // namespace
}  // namespace hocket
