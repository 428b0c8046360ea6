// SPDX-License-Identifier: Apache-2.0
// Tasks that submit tasks and wait for them: no worker is lost, no stranger runs under a lock, no hang.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::Gate;
using testing::options_for;
using Nesting = testing::WatchedTest;

int fibonacci(Runtime& runtime, int n) {
  if (n < 2) return n;
  int left = 0;
  int right = 0;
  const Task first = runtime.submit(cpu([&runtime, &left, n] { left = fibonacci(runtime, n - 1); }));
  const Task second = runtime.submit(cpu([&runtime, &right, n] { right = fibonacci(runtime, n - 2); }));
  first.get();
  second.get();
  return left + right;
}

TEST_F(Nesting, ComputesFibonacciNumbersByRecursionOnOneWorker) {
  Runtime runtime(options_for("cpu:1"));
  int result = 0;
  runtime.submit(cpu([&] { result = fibonacci(runtime, 14); })).get();
  EXPECT_EQ(result, 377);
}

TEST_F(Nesting, ComputesFibonacciNumbersByRecursionOnTwoWorkers) {
  Runtime runtime(options_for("cpu:2"));
  int result = 0;
  runtime.submit(cpu([&] { result = fibonacci(runtime, 14); })).get();
  EXPECT_EQ(result, 377);
}

TEST_F(Nesting, ComputesFibonacciNumbersByRecursionUnderEveryPolicy) {
  for (const std::string& policy : policy_names()) {
    Runtime runtime(options_for("cpu:2", policy));
    EXPECT_EQ(fibonacci(runtime, 9), 34) << policy;
  }
}

TEST_F(Nesting, WaitsInATaskForTheTasksThatItSubmittedOnly) {
  Runtime runtime(options_for("cpu:2"));
  Gate gate;
  std::atomic<int> children{0};
  int seen = -1;
  // Another task of the runtime never ends before the parent does: waiting for all would hang.
  const Task stranger = runtime.submit(cpu([&] { gate.pass(); }));
  const Task parent = runtime.submit(cpu([&] {
    for (int i = 0; i < 8; ++i) runtime.submit(cpu([&] { ++children; }));
    runtime.wait();
    seen = children;
  }));
  parent.get();
  gate.open();
  stranger.get();
  EXPECT_EQ(seen, 8);
}

TEST_F(Nesting, WaitsInATaskOnTheOnlyWorker) {
  Runtime runtime(options_for("cpu:1"));
  std::vector<int> values(4, 1);
  auto data = runtime.data(std::span(values));
  int sum = 0;
  runtime
      .submit(cpu([&] {
        std::vector<int> local(4, 0);
        auto mine = runtime.data(std::span(local));
        runtime.submit(testing::copy(), data, mine);
        runtime.submit(testing::add(), 5, mine);
        runtime.wait();
        const auto view = runtime.read(mine);
        for (const int value : view) sum += value;
      }))
      .get();
  EXPECT_EQ(sum, 24);
}

TEST_F(Nesting, ReportsTheFailureOfAChildToTheTaskThatWaits) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 1, data);
  std::string message;
  runtime
      .submit(cpu([&] {
        runtime.submit(testing::broken(), data);
        message = testing::message_of<TaskError>([&] { runtime.wait(); });
      }))
      .get();
  EXPECT_TRUE(testing::holds(message, {"broken kernel"}));
}

TEST_F(Nesting, ReportsTheFailureOfAChildThatItGets) {
  Runtime runtime(options_for("cpu:1"));
  const Task parent = runtime.submit(
      {.name = "parent"}, cpu([&] {
        runtime.submit({.name = "child"}, cpu([] { throw std::runtime_error("no luck"); })).get();
      }));
  const std::string message = testing::message_of<TaskError>([&] { parent.get(); });
  EXPECT_TRUE(testing::holds(message, {"parent", "child", "no luck"}));
}

/// What a task that holds a lock waits for: made by `submit_child` while another task that wants the same
/// lock is ready to run.
void wait_under_a_lock(const std::string& devices, const std::function<Task(Runtime&)>& submit_child) {
  Runtime runtime(options_for(devices));
  std::mutex lock;  // not recursive: a stranger on the same thread would deadlock, one on another blocks it
  std::atomic<bool> held{false};
  std::atomic<int> strangers{0};
  const Task holder = runtime.submit(cpu([&] {
    const std::lock_guard guard(lock);
    held = true;
    for (int i = 0; i < 4; ++i)
      runtime.submit(cpu([&] {
        const std::lock_guard inner(lock);
        EXPECT_FALSE(held);
        ++strangers;
      }));
    submit_child(runtime).get();
    held = false;
  }));
  holder.get();
  runtime.wait();
  EXPECT_EQ(strangers, 4);
}

TEST_F(Nesting, RunsNoStrangerUnderALockThatTheWaitingTaskHolds) {
  for (const char* const devices : {"cpu:1", "cpu:2"})
    wait_under_a_lock(devices, [](Runtime& runtime) { return runtime.submit(cpu([] {})); });
}

TEST_F(Nesting, RunsNoStrangerUnderALockWhileAChildWithAPriorityIsAwaited) {
  for (const char* const devices : {"cpu:1", "cpu:2"})
    wait_under_a_lock(devices, [](Runtime& runtime) { return runtime.submit({.priority = 3}, cpu([] {})); });
}

TEST_F(Nesting, RunsNoStrangerUnderALockWhileAChainOfChildrenIsAwaited) {
  for (const char* const devices : {"cpu:1", "cpu:2"})
    wait_under_a_lock(devices, [](Runtime& runtime) {
      Task last;
      for (int i = 0; i < 10; ++i) {
        TaskOptions options;
        if (last) options.after = {last};
        last = runtime.submit(options, cpu([] {}));
      }
      return last;
    });
}

TEST_F(Nesting, LetsTwoTasksWaitForTheSameTask) {
  for (const char* const devices : {"cpu:1", "cpu:2"}) {
    Runtime runtime(options_for(devices));
    Gate gate;
    const Task awaited = runtime.submit(cpu([&] { gate.pass(); }));
    std::vector<Task> waiters;
    for (int i = 0; i < 4; ++i) waiters.push_back(runtime.submit(cpu([&] { awaited.get(); })));
    gate.open();
    for (const Task& waiter : waiters) waiter.get();
    EXPECT_EQ(awaited.state(), TaskState::Done);
  }
}

TEST_F(Nesting, LetsTwoTasksRunTheSameGraphAndWaitForIt) {
  for (const char* const devices : {"cpu:1", "cpu:2"}) {
    Runtime runtime(options_for(devices));
    std::vector<int> values(16, 0);
    auto data = runtime.data(std::span(values));
    const Graph graph = runtime.record([&](Graph& g) {
      for (int i = 0; i < 5; ++i) g.submit(testing::add(), 1, data);
    });
    std::vector<Task> runners;
    for (int i = 0; i < 6; ++i) runners.push_back(runtime.submit(cpu([&] { runtime.run(graph).get(); })));
    for (const Task& runner : runners) runner.get();
    EXPECT_EQ(runtime.read(data)[7], 30);
  }
}

TEST_F(Nesting, WaitsInATaskForAtMostAsLongAsAsked) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  bool over = true;
  Task blocked;
  runtime
      .submit(cpu([&] {
        blocked = runtime.submit(cpu([&] { gate.pass(); }));
        over = blocked.wait_for(Seconds{0.02});
        gate.open();
      }))
      .get();
  blocked.get();
  EXPECT_FALSE(over);
}

TEST_F(Nesting, RefusesToWaitForItself) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  Task self;
  const Task task = self = runtime.submit({.name = "ouroboros"}, cpu([&] {
                                            gate.pass();
                                            self.get();
                                          }));
  gate.open();
  const std::string message = testing::message_of<TaskError>([&] { task.get(); });
  EXPECT_TRUE(testing::holds(message, {"ouroboros", "never end"}));
}

TEST_F(Nesting, RefusesToWaitForATaskThatWaitsForTheCaller) {
  Runtime runtime(options_for("cpu:2"));
  Gate gate;
  Task later;
  const Task first = runtime.submit({.name = "first"}, cpu([&] {
                                      gate.pass();
                                      later.get();
                                    }));
  later = runtime.submit({.name = "later", .after = {first}}, cpu([] {}));
  gate.open();
  EXPECT_TRUE(testing::holds(testing::message_of<TaskError>([&] { first.get(); }), {"first", "never end"}));
  EXPECT_THROW(later.get(), TaskError);
}

TEST_F(Nesting, RefusesToReadInATaskWhatTheTaskItselfWasGiven) {
  Runtime runtime(options_for("cpu:2"));
  auto data = runtime.data<int>({4}, {.name = "mine"});
  runtime.submit(testing::set_to(), 1, data);
  const Task task = runtime.submit(cpu([&](View<int>) { const auto view = runtime.read(data); }), data);
  EXPECT_TRUE(testing::holds(testing::message_of<TaskError>([&] { task.get(); }), {"never end", "mine"}));
  // The attempt leaves nothing behind that would hold up the data.
  runtime.submit(testing::set_to(), 2, data);
  EXPECT_EQ(runtime.read(data)[3], 2);
}

TEST_F(Nesting, RefusesToWriteInATaskWhatTheTaskItselfWasGiven) {
  Runtime runtime(options_for("cpu:2"));
  auto data = runtime.data<int>({4}, {.name = "mine"});
  runtime.submit(testing::set_to(), 1, data);
  bool refused = false;
  runtime
      .submit(cpu([&](View<int> x) {
                try {
                  const auto view = runtime.write(data);
                } catch (const Error&) {
                  refused = true;
                }
                x[0] = 9;
              }),
              data)
      .get();
  EXPECT_TRUE(refused);
  EXPECT_EQ(runtime.read(data)[0], 9);
  runtime.submit(testing::add(), 1, data);
  EXPECT_EQ(runtime.read(data)[0], 10);
}

TEST_F(Nesting, KeepsOtherWorkGoingWhileATaskWaits) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  // The child of `parent` ends only after a stranger has run, on the only worker, while `parent` waits.
  const Task parent = runtime.submit(cpu([&] {
    Gate& inner = gate;
    const Task child = runtime.submit({.after = {runtime.submit(cpu([&] { inner.pass(); }))}}, cpu([] {}));
    std::thread helper([&] { inner.open(); });
    child.get();
    helper.join();
  }));
  parent.get();
}

TEST_F(Nesting, LetsATaskWaitForWhatAnotherThreadSubmits) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({1});
  runtime.submit(testing::set_to(), 0, data);
  Gate submitted;
  Task other;
  const Task waiter = runtime.submit(cpu([&] {
    submitted.pass();
    other.get();
  }));
  std::thread thread([&] {
    other = runtime.submit(testing::add(), 3, data);
    submitted.open();
  });
  thread.join();
  waiter.get();
  EXPECT_EQ(runtime.read(data)[0], 3);
}

TEST_F(Nesting, WaitsDeepInsideWithoutRunningOutOfThreads) {
  Runtime runtime(options_for("cpu:2"));
  std::function<int(int)> descend = [&](int depth) {
    if (depth == 0) return 0;
    int below = 0;
    runtime.submit({.priority = depth % 3}, cpu([&] { below = descend(depth - 1); })).get();
    return below + 1;
  };
  int depth = 0;
  runtime.submit(cpu([&] { depth = descend(60); })).get();
  EXPECT_EQ(depth, 60);
}

TEST_F(Nesting, SharesDataBetweenParentsWhoseChildrenAreOrderedExplicitly) {
  Runtime runtime(options_for("cpu:2"));
  std::vector<int> values(1, 0);
  auto data = runtime.data(std::span(values));
  std::vector<Task> parents;
  for (int i = 0; i < 60; ++i)
    parents.push_back(runtime.submit(cpu([&] {
      const Task before = runtime.submit(cpu([] {}));
      runtime.submit({.after = {before}}, testing::add(), 1, data).get();
      runtime.submit(testing::add(), 1, data).get();
    })));
  for (const Task& parent : parents) parent.get();
  EXPECT_EQ(runtime.read(data)[0], 120);
}

// ---- children, and what is already over -----------------------------------------------------------------------------

TEST_F(Nesting, WaitsForChildrenWhereWhatTheTaskNeededWasOverAtItsSubmission) {
  Runtime runtime(options_for("cpu:2"));
  auto data = runtime.data<int>({4});
  const Task first = runtime.submit(testing::set_to(), 1, data);
  first.get();
  std::atomic<int> children{0};
  const auto parent = [&] {
    runtime.submit(cpu([&] { ++children; }));
    runtime.wait();
  };
  EXPECT_NO_THROW(runtime.submit(cpu([&](View<int>) { parent(); }), data).get());
  EXPECT_NO_THROW(runtime.submit({.after = {first}}, cpu([&] { parent(); })).get());
  EXPECT_EQ(children, 2);
}

TEST_F(Nesting, GoesThroughALongChainOnce) {
  constexpr int kLength = 200000;  // as many steps for each task of it would take hours
  Runtime runtime(options_for("cpu:1"));
  int ran = 0;
  runtime
      .submit(cpu([&] {
        Task last;
        for (int i = 0; i < kLength; ++i) {
          TaskOptions options;
          if (last) options.after = {last};
          last = runtime.submit(std::move(options), cpu([&] { ++ran; }));
        }
        last.get();
      }))
      .get();
  EXPECT_EQ(ran, kLength);
}

TEST_F(Nesting, FindsAnEndlessWaitInATaskThatRunsInsideAWait) {
  for (const char* devices : {"cpu:1", "cpu:2"}) {
    Runtime runtime(options_for(devices));
    auto data = runtime.data<int>({4});
    const Task outer = runtime.submit(cpu([&](Out<int> x) {
                                        x[0] = 1;
                                        runtime.submit(cpu([&] { runtime.read(data); })).get();
                                      }),
                                      data);
    EXPECT_TRUE(testing::holds(testing::message_of<TaskError>([&] { outer.get(); }), {"would never end"}))
        << devices;
  }
}

TEST_F(Nesting, FindsTwoTasksThatWaitForEachOther) {
  Runtime runtime(options_for("cpu:2"));
  Task first;
  Task second;
  std::atomic<bool> known{false};
  const auto wait_for = [&](Task& other) {
    while (!known) std::this_thread::yield();
    other.get();
  };
  first = runtime.submit(cpu([&] { wait_for(second); }));
  second = runtime.submit(cpu([&] { wait_for(first); }));
  known = true;
  EXPECT_TRUE(testing::holds(testing::message_of<TaskError>([&] { first.get(); }), {"would never end"}));
  EXPECT_THROW(second.get(), TaskError);
}

TEST_F(Nesting, NeverLeavesATaskThatThePolicyHoldsToNobody) {
  Runtime runtime(options_for("cpu:1"));
  for (int round = 0; round < 3000; ++round) {
    const Task unhurried = runtime.submit({.priority = -1}, cpu([] {}));
    for (int i = 0; i < 20; ++i) runtime.submit(cpu([] {})).get();
    unhurried.get();
  }
}

TEST_F(Nesting, IsNotGivenUpWhileAGraphRuns) {
  // Longer than it takes to find that a wait is endless; and the waiting thread comes too late to take part.
  constexpr auto kLong = std::chrono::milliseconds(1200);
  Runtime runtime(options_for("cpu:2"));
  auto x = runtime.data<int>({1});
  auto y = runtime.data<int>({1});
  const Codelet slow{"slow", cpu([](Out<int> out) {
                       std::this_thread::sleep_for(std::chrono::milliseconds(1200));
                       out[0] = 1;
                     })};
  const Graph graph = runtime.record([&](Graph& recorded) {
    recorded.submit(slow, x);
    recorded.submit(slow, y);
  });
  const Task run = runtime.run(graph);
  std::this_thread::sleep_for(kLong / 10);
  EXPECT_NO_THROW(run.get());
}

}  // namespace
}  // namespace hocket
