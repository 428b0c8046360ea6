// SPDX-License-Identifier: Apache-2.0
// Runtimes: their options and environment, several at once, their end, reports and explanations.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/environment.hpp"
#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::Environment;
using testing::eventually;
using testing::Gate;
using testing::holds;
using testing::message_of;
using testing::options_for;
using Runtimes = testing::WatchedTest;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// ---- options
// ------------------------------------------------------------------------------------------------------

TEST_F(Runtimes, FindTheProcessorWhenNothingIsSaid) {
  Runtime runtime;
  ASSERT_FALSE(runtime.devices().empty());
  EXPECT_EQ(runtime.devices()[0].label, "cpu:0");
  EXPECT_EQ(runtime.devices()[0].id, DeviceId{0});
  EXPECT_EQ(runtime.devices()[0].memory_node, kHostNode);
  EXPECT_GE(runtime.devices()[0].properties.concurrency, 1u);
}

TEST_F(Runtimes, HaveAsManyWorkersAsAskedFor) {
  Runtime runtime(options_for(" cpu:3 "));
  EXPECT_EQ(runtime.devices()[0].properties.concurrency, 3u);
  std::atomic<int> arrived{0};
  for (int i = 0; i < 3; ++i)
    runtime.submit(cpu([&] {
      ++arrived;
      eventually([&] { return arrived == 3; });  // hangs with fewer workers
    }));
  runtime.wait();
}

TEST_F(Runtimes, WakeAWorkerOfTheDeviceThatATaskAsksFor) {
  Runtime runtime(options_for("cpu:1,cpu:1"));
  for (int i = 0; i < 40; ++i) {
    runtime.submit({.on = i % 4 == 0 ? "cpu:0" : "cpu:1"}, cpu([] {})).get();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // until the workers sleep
  }
}

TEST_F(Runtimes, SayWhatIsWrongWithADeviceSpecification) {
  for (const char* const bad :
       {"tpu", "cpu,tpu:4", "cpu:0", "cpu:-1", "cpu:many", "cpu:1.5", "cpu:", ",", "cpu,,cpu", "CPU",
        "none,cpu", "cpu:99999999999", "cpu 2", "opencl:99", "pim:0", "pim:x"}) {
    if (!HOCKET_HAS_OPENCL && std::string(bad).starts_with("opencl")) continue;
    const std::string what = bad;
    if (what == "cpu:") continue;  // the same as "cpu"
    const std::string message = message_of<InvalidArgument>([&] { Runtime runtime(options_for(what)); });
    EXPECT_FALSE(message.empty()) << bad;
  }
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime(options_for("cpu,tpu:4")); }),
                    {"tpu", "unknown kind", "cpu"}));
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime(options_for("cpu:many")); }),
                    {"many", "cpu:2"}));
}

TEST_F(Runtimes, SayWhatPoliciesThereAre) {
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime(options_for("cpu:1", "magic")); }),
                    {"magic", "eager", "ws", "eft"}));
  EXPECT_THROW(make_policy(""), InvalidArgument);
  for (const std::string& name : policy_names()) {
    EXPECT_EQ(make_policy(name)->name(), name);
    EXPECT_EQ(Runtime(options_for("cpu:1", name)).policy(), name);
  }
}

TEST_F(Runtimes, SayWhatIsWrongWithAMemoryLimit) {
  for (const char* const bad : {"opencl", "opencl=", "opencl=lots", "opencl=-5", "opencl=0", "opencl=1XB",
                                "tpu=1MiB", "=5", "opencl=1MiB,", "opencl=1e40"}) {
    RuntimeOptions options = options_for("cpu:1");
    options.memory = bad;
    EXPECT_FALSE(message_of<InvalidArgument>([&] { Runtime runtime(options); }).empty()) << bad;
  }
  RuntimeOptions options = options_for("cpu:1");
  options.memory = "cpu=1MiB";
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { Runtime runtime(options); }), {"cpu", "memory"}));
}

TEST_F(Runtimes, TakeALimitForAKindThatIsNotHereToday) {
  RuntimeOptions options = options_for("cpu:1");
  options.memory = "opencl=256MiB, pim = 8 MiB";
  EXPECT_NO_THROW(Runtime runtime(options));
}

// ---- environment
// --------------------------------------------------------------------------------------------------

TEST_F(Runtimes, TakeFromTheEnvironmentWhatTheProgramLeavesOpen) {
  const Environment devices("HOCKET_DEVICES", "cpu:3");
  const Environment policy("HOCKET_POLICY", "eager");
  Runtime runtime;
  EXPECT_EQ(runtime.devices()[0].properties.concurrency, 3u);
  EXPECT_EQ(runtime.policy(), "eager");
}

TEST_F(Runtimes, PreferWhatTheProgramSaysToTheEnvironment) {
  const Environment devices("HOCKET_DEVICES", "nonsense");
  const Environment policy("HOCKET_POLICY", "nonsense");
  const Environment memory("HOCKET_MEMORY", "nonsense");
  const Environment trace("HOCKET_TRACE", "nonsense");
  const Environment check("HOCKET_CHECK", "nonsense");
  RuntimeOptions options = options_for("cpu:1", "ws");
  options.memory = "opencl=1MiB";
  options.trace = false;
  options.check = false;
  Runtime runtime(options);
  EXPECT_EQ(runtime.policy(), "ws");
}

TEST_F(Runtimes, SayWhatIsWrongInTheEnvironment) {
  {
    const Environment bad("HOCKET_DEVICES", "tpu");
    EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime; }), {"tpu"}));
  }
  {
    const Environment bad("HOCKET_TRACE", "maybe");
    EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime(options_for("cpu:1")); }),
                      {"HOCKET_TRACE", "maybe"}));
  }
  {
    const Environment bad("HOCKET_CHECK", "maybe");
    EXPECT_TRUE(holds(message_of<InvalidArgument>([] { Runtime runtime(options_for("cpu:1")); }),
                      {"HOCKET_CHECK", "maybe"}));
  }
}

TEST_F(Runtimes, TraceWhenTheEnvironmentSaysSo) {
  const Environment trace("HOCKET_TRACE", "1");
  Runtime runtime(options_for("cpu:1"));
  runtime.submit({.name = "seen"}, cpu([] {})).get();
  runtime.wait();
  const Report report = runtime.report();
  ASSERT_EQ(report.task_events.size(), 1u);
  EXPECT_EQ(report.task_events[0].name, "seen");
}

// ---- checked mode
// -------------------------------------------------------------------------------------------------

const Codelet<void(View<const int>)>& cheat() {
  static const Codelet codelet{"cheat", cpu([](View<const int> x) { const_cast<int&>(x[2]) = -1; })};
  return codelet;
}

TEST_F(Runtimes, InCheckedModeCatchAKernelThatWritesThroughACast) {
  RuntimeOptions options = options_for("cpu:1");
  options.check = true;
  Runtime runtime(options);
  auto data = runtime.data<int>({4}, {.name = "ledger"});
  runtime.submit(testing::set_to(), 1, data);
  const Task task = runtime.submit(cheat(), data);
  try {
    task.get();
    FAIL() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_TRUE(holds(error.what(), {"cheat", "ledger", "read-only"}));
    EXPECT_THROW(std::rethrow_exception(error.cause()), AccessViolation);
  }
}

TEST_F(Runtimes, InCheckedModeLetHonestKernelsRun) {
  const Environment check("HOCKET_CHECK", "1");
  Runtime runtime(options_for("cpu:2"));
  std::vector<int> memory(40, 1);
  auto matrix = runtime.data(memory.data(), {4, 10});
  auto sum = runtime.data<int>({1});
  runtime.submit(cpu([](View<const int, 2> x, Out<int> total) {
                   total[0] = 0;
                   for (std::size_t i = 0; i < x.extent(0); ++i)
                     for (std::size_t j = 0; j < x.extent(1); ++j) total[0] += x(i, j);
                 }),
                 matrix.block({1, 1}, {2, 5}), sum);
  EXPECT_EQ(runtime.read(sum)[0], 10);
}

// ---- several, none, and their end
// -----------------------------------------------------------------------------------

TEST_F(Runtimes, LiveSideBySide) {
  std::vector<std::unique_ptr<Runtime>> runtimes;
  std::vector<Data<int>> data;
  for (int r = 0; r < 4; ++r) {
    runtimes.push_back(std::make_unique<Runtime>(options_for("cpu:1")));
    data.push_back(runtimes.back()->data<int>({4}));
    runtimes.back()->submit(testing::set_to(), r, data.back());
  }
  for (int i = 0; i < 50; ++i)
    for (std::size_t r = 0; r < 4; ++r) runtimes[r]->submit(testing::add(), 1, data[r]);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(runtimes[r]->read(data[r])[0], static_cast<int>(r) + 50);
}

TEST_F(Runtimes, MayBeUsedFromTheTasksOfAnother) {
  Runtime outer(options_for("cpu:1"));
  Runtime inner(options_for("cpu:1"));
  auto data = inner.data<int>({1});
  outer
      .submit(cpu([&] {
        inner.submit(testing::set_to(), 3, data).get();
        inner.wait();
      }))
      .get();
  EXPECT_EQ(inner.read(data)[0], 3);
}

TEST_F(Runtimes, MayBeMadeInATask) {
  Runtime outer(options_for("cpu:1"));
  int result = 0;
  outer
      .submit(cpu([&] {
        Runtime inner(options_for("cpu:1"));
        auto data = inner.data<int>({1});
        inner.submit(testing::set_to(), 4, data);
        result = inner.read(data)[0];
      }))
      .get();
  EXPECT_EQ(result, 4);
}

TEST_F(Runtimes, WithoutAnyDeviceHoldDataAndRefuseTasks) {
  Runtime runtime(options_for("none"));
  EXPECT_TRUE(runtime.devices().empty());
  auto data = runtime.data<int>({4});
  {
    auto view = runtime.write(data);
    for (int& element : view) element = 2;
  }
  EXPECT_EQ(runtime.read(data)[3], 2);
  EXPECT_TRUE(holds(message_of<NoEligibleDevice>([&] { runtime.submit(testing::add(), 1, data); }),
                    {"'add'", "cpu", "none"}));
  runtime.wait();
  EXPECT_EQ(runtime.report().tasks, 0u);
}

TEST_F(Runtimes, EndOnlyAfterTheQueuedWorkIsDone) {
  std::atomic<int> ran{0};
  std::vector<int> memory(4, 0);
  {
    Runtime runtime(options_for("cpu:2"));
    auto data = runtime.data(std::span(memory));
    for (int i = 0; i < 200; ++i) {
      runtime.submit(cpu([&] { ++ran; }));
      runtime.submit({.priority = i % 5}, testing::add(), 1, data);
    }
  }
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(memory[3], 200);
}

TEST_F(Runtimes, EndRightAfterBeingMade) {
  for (int i = 0; i < 20; ++i) Runtime runtime(options_for("cpu:2"));
}

TEST_F(Runtimes, EndSoonWhenTheirWorkIsCancelled) {
  Gate gate;
  std::atomic<int> ran{0};
  std::thread opener;
  {
    Runtime runtime(options_for("cpu:1"));
    const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
    eventually([&] { return blocker.state() == TaskState::Running; });
    for (int i = 0; i < 100; ++i) runtime.submit(cpu([&] { ++ran; }));
    runtime.cancel();
    opener = std::thread([&] { gate.open(); });
  }
  opener.join();
  EXPECT_EQ(ran, 0);
}

TEST_F(Runtimes, TakeTasksFromSeveralThreadsAtOnce) {
  Runtime runtime(options_for("cpu:2"));
  constexpr int kThreads = 4;
  constexpr int kTasks = 300;
  std::vector<int> memory(kThreads, 0);
  auto shared = runtime.data<int>({1});
  runtime.submit(testing::set_to(), 0, shared);
  auto own = runtime.data(std::span(memory));
  const auto tiles = own.tiles(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        runtime.submit(testing::add(), 1, shared);
        runtime.submit(testing::add(), 1, tiles(t));
        if (i % 50 == 0) runtime.wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runtime.read(shared)[0], kThreads * kTasks);
  const auto view = runtime.read(own);
  for (const int value : view) EXPECT_EQ(value, kTasks);
}

TEST_F(Runtimes, OrderSubmissionsOfSeveralThreadsAlikeOnAllTheirData) {
  Runtime runtime(options_for("cpu:2"));
  std::vector<int> a_memory(1, 0);
  std::vector<int> b_memory(1, 0);
  auto a = runtime.data(std::span(a_memory));
  auto b = runtime.data(std::span(b_memory));
  const Codelet mix{"mix", cpu([](int factor, View<int> x, View<int> y) {
                      const std::uint32_t sum =
                          static_cast<std::uint32_t>(x[0]) * 31u + static_cast<std::uint32_t>(factor);
                      x[0] = static_cast<int>(sum);
                      y[0] = static_cast<int>(sum);
                    })};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        if (t % 2 == 0)
          runtime.submit(mix, t, a, b);
        else
          runtime.submit(cpu([t](View<int> y, View<int> x) {
                           const std::uint32_t sum =
                               static_cast<std::uint32_t>(x[0]) * 31u + static_cast<std::uint32_t>(t);
                           x[0] = static_cast<int>(sum);
                           y[0] = static_cast<int>(sum);
                         }),
                         b, a);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runtime.read(a)[0], runtime.read(b)[0]);
}

TEST_F(Runtimes, BurnNoProcessorTimeWhileIdle) {
  Runtime runtime(options_for("cpu:2"));
  runtime.submit(cpu([] {})).get();
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
  EXPECT_LT(cpu_seconds() - before, 0.1) << "of 0.5 s in which nothing was to be done";
}

TEST_F(Runtimes, BurnNoProcessorTimeWhileATaskSleepsAndAThreadWaits) {
  Runtime runtime(options_for("cpu:2"));
  const double before = cpu_seconds();
  runtime.submit(cpu([] { std::this_thread::sleep_for(std::chrono::milliseconds{500}); }));
  runtime.wait();
  EXPECT_LT(cpu_seconds() - before, 0.1) << "of 0.5 s in which one task slept";
}

// ---- reports and explanations
// ---------------------------------------------------------------------------------------

TEST_F(Runtimes, ReportWhatTheyDid) {
  RuntimeOptions options = options_for("cpu:2", "eager");
  options.trace = true;
  Runtime runtime(options);
  auto data = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, data);
  for (int i = 0; i < 9; ++i) runtime.submit({.name = "step"}, testing::add(), 1, data);
  runtime.wait();
  const Report report = runtime.report();
  EXPECT_EQ(report.tasks, 10u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.cancelled, 0u);
  EXPECT_EQ(report.policy, "eager");
  EXPECT_EQ(report.bytes_moved, Bytes{0});
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].kind, "cpu");
  EXPECT_EQ(report.devices[0].workers, 2u);
  EXPECT_EQ(report.devices[0].tasks, 10u);
  ASSERT_EQ(report.task_events.size(), 10u);
  EXPECT_EQ(report.task_events.back().name, "step");
  EXPECT_EQ(report.task_events.back().codelet, "add");
  for (const TaskEvent& event : report.task_events) {
    EXPECT_LE(event.ready, event.begin);
    EXPECT_LE(event.begin, event.end);
    EXPECT_LE(event.end, report.end);
  }
  EXPECT_LE(report.makespan, report.end - report.begin);
}

TEST_F(Runtimes, StartCountingAnewWhenTheReportIsReset) {
  Runtime runtime(options_for("cpu:1"));
  for (int i = 0; i < 5; ++i) runtime.submit(cpu([] {}));
  runtime.wait();
  runtime.reset_report();
  EXPECT_EQ(runtime.report().tasks, 0u);
  EXPECT_EQ(runtime.report().makespan, Seconds{});
  runtime.submit(cpu([] {})).get();
  runtime.wait();
  const Report report = runtime.report();
  EXPECT_EQ(report.tasks, 1u);
  EXPECT_EQ(report.devices[0].tasks, 1u);
  EXPECT_GT(report.begin.count, 0.0);
  EXPECT_TRUE(report.task_events.empty()) << "events are kept only when traced";
}

TEST_F(Runtimes, CountEveryTaskOfARunOfAGraph) {
  Runtime runtime(options_for("cpu:2"));
  const Graph graph = runtime.record([](Graph& g) {
    for (int i = 0; i < 7; ++i) g.submit(cpu([] {}));
  });
  runtime.run(graph);
  runtime.run(graph);
  runtime.wait();
  EXPECT_EQ(runtime.report().tasks, 14u);
}

TEST_F(Runtimes, ExplainWhyATaskRanWhereItDid) {
  RuntimeOptions options = options_for("cpu:1", "eager");
  options.trace = true;
  Runtime runtime(options);
  auto data = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, data);
  const Task fast = runtime.submit({.name = "plain"}, testing::add(), 1, data);
  const Task placed = runtime.submit({.name = "urgent", .priority = 1}, testing::add(), 1, data);
  runtime.wait();
  const Explanation one = runtime.why(fast);
  EXPECT_EQ(one.task, "plain");
  EXPECT_EQ(one.device, DeviceId{0});
  EXPECT_TRUE(one.actual_execution.has_value());
  ASSERT_EQ(one.options.size(), 1u);
  EXPECT_TRUE(one.options[0].eligible);
  const Explanation two = runtime.why(placed);
  EXPECT_EQ(two.decided_by, "eager");
  ASSERT_EQ(two.options.size(), 1u);
  EXPECT_EQ(two.options[0].label, "cpu:0");
}

TEST_F(Runtimes, ExplainOnlyTheirOwnTasks) {
  Runtime runtime(options_for("cpu:1"));
  Runtime other(options_for("cpu:1"));
  const Task foreign = other.submit(cpu([] {}));
  EXPECT_THROW(runtime.why(foreign), InvalidArgument);
  EXPECT_THROW(runtime.why(Task()), InvalidArgument);
}

}  // namespace
}  // namespace hocket
