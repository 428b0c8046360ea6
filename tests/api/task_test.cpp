// SPDX-License-Identifier: Apache-2.0
// Tasks: their handles, options, cancellation, and one-off kernels.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::eventually;
using testing::Gate;
using testing::holds;
using testing::message_of;
using testing::options_for;
using Tasks = testing::WatchedTest;

/// The order in which tasks ran.
class Order {
 public:
  void note(int what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
  }
  std::vector<int> seen() const { return seen_; }

 private:
  std::mutex mutex_;
  std::vector<int> seen_;
};

TEST_F(Tasks, HaveAnIdANameAndAStateThatEndsInDone) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  const Task first = runtime.submit({.name = "first"}, cpu([&] { gate.pass(); }));
  const Task second = runtime.submit({.name = "second", .after = {first}}, cpu([] {}));
  EXPECT_NE(first.id(), TaskId{0});
  EXPECT_LT(first.id(), second.id());
  EXPECT_EQ(second.name(), "second");
  EXPECT_EQ(second.state(), TaskState::Waiting);
  gate.open();
  second.get();
  EXPECT_EQ(first.state(), TaskState::Done);
  EXPECT_EQ(second.state(), TaskState::Done);
  EXPECT_EQ(to_string(second.state()), "done");
}

TEST_F(Tasks, AreNamedByTheirPlaceWhereTheyAreUsedOnce) {
  Runtime runtime(options_for("cpu:1"));
  const int line = __LINE__ + 1;
  const Task task = runtime.submit(cpu([] {}));
  EXPECT_EQ(task.name(), "task_test.cpp:" + std::to_string(line));
}

TEST_F(Tasks, KeepWhatTheirLambdaHasCaptured) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({2});
  std::weak_ptr<int> watched;
  {
    auto value = std::make_shared<int>(17);
    watched = value;
    Gate gate;
    const Task before = runtime.submit(cpu([&gate] { gate.pass(); }));
    const Task task = runtime.submit(cpu([value](Out<int> x) { x[0] = x[1] = *value; }), data);
    value.reset();
    EXPECT_FALSE(watched.expired());
    gate.open();
    before.get();
    task.get();
  }
  EXPECT_EQ(runtime.read(data)[1], 17);
  runtime.wait();
  eventually([&] { return watched.expired(); });
}

TEST_F(Tasks, RunOnOneWorkerInOrderOfPriority) {
  for (const std::string& policy : policy_names()) {
    Runtime runtime(options_for("cpu:1", policy));
    Gate gate;
    Order order;
    const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
    eventually([&] { return blocker.state() == TaskState::Running; });
    for (const int priority : {1, 5, 3, -2, 4, -1, 2})
      runtime.submit({.priority = priority}, cpu([&order, priority] { order.note(priority); }));
    gate.open();
    runtime.wait();
    EXPECT_EQ(order.seen(), (std::vector<int>{5, 4, 3, 2, 1, -1, -2})) << policy;
  }
}

TEST_F(Tasks, WithAPriorityOvertakeThoseWithoutOne) {
  for (const std::string& policy : policy_names()) {
    Runtime runtime(options_for("cpu:1", policy));
    Gate gate;
    Order order;
    const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
    eventually([&] { return blocker.state() == TaskState::Running; });
    for (const int priority : {0, 0, -1, 7, 0})
      runtime.submit({.priority = priority}, cpu([&order, priority] { order.note(priority); }));
    gate.open();
    runtime.wait();
    EXPECT_EQ(order.seen(), (std::vector<int>{7, 0, 0, 0, -1})) << policy;
  }
}

TEST_F(Tasks, WithAPriorityOvertakeTheSuccessorOfTheTaskThatRuns) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  Order order;
  const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
  eventually([&] { return blocker.state() == TaskState::Running; });
  runtime.submit({.after = {blocker}}, cpu([&order] { order.note(0); }));
  runtime.submit({.priority = 9}, cpu([&order] { order.note(9); }));
  gate.open();
  runtime.wait();
  EXPECT_EQ(order.seen(), (std::vector<int>{9, 0}));
}

TEST_F(Tasks, RunAfterThoseThatTheyWereAskedToFollow) {
  Runtime runtime(options_for("cpu:2"));
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> before{0};
    int seen = -1;
    const Task a = runtime.submit(cpu([&] { ++before; }));
    const Task b = runtime.submit(cpu([&] { ++before; }));
    runtime.submit({.after = {a, b, a}}, cpu([&] { seen = before; })).get();
    EXPECT_EQ(seen, 2);
  }
}

TEST_F(Tasks, RefuseToFollowAnEmptyHandleOrATaskOfAnotherRuntime) {
  Runtime runtime(options_for("cpu:1"));
  Runtime other(options_for("cpu:1"));
  const Task foreign = other.submit(cpu([] {}));
  EXPECT_TRUE(holds(
      message_of<InvalidArgument>([&] { runtime.submit({.name = "t", .after = {Task()}}, cpu([] {})); }),
      {"'t'", "after", "empty"}));
  EXPECT_THROW(runtime.submit({.after = {foreign}}, cpu([] {})), InvalidArgument);
}

TEST_F(Tasks, RunOnlyWhereTheyAreToldTo) {
  Runtime runtime(options_for("cpu:1"));
  runtime.submit({.on = "cpu"}, cpu([] {})).get();
  runtime.submit({.on = "cpu:0"}, cpu([] {})).get();
  for (const char* const bad : {"gpu", "cpu:1", "cpu,tpu", ",", "cpu:x"})
    EXPECT_TRUE(
        holds(message_of<InvalidArgument>([&] { runtime.submit({.on = bad}, cpu([] {})); }), {bad, "cpu:0"}))
        << bad;
}

TEST_F(Tasks, AreWaitedForAtMostAsLongAsAsked) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  const Task task = runtime.submit(cpu([&] { gate.pass(); }));
  EXPECT_FALSE(task.wait_for(Seconds{0.01}));
  EXPECT_FALSE(task.wait_for(Seconds{0.0}));
  EXPECT_FALSE(task.wait_for(Seconds{-1.0}));
  EXPECT_FALSE(task.wait_for(std::chrono::milliseconds{5}));
  gate.open();
  EXPECT_TRUE(task.wait_for(Seconds{1e9}));
  EXPECT_TRUE(task.wait_for(std::chrono::hours::max()));
  EXPECT_TRUE(task.wait_for(Seconds{0.0}));
}

TEST_F(Tasks, CanBeGotAgainAfterAWait) {
  Runtime runtime(options_for("cpu:2"));
  std::vector<Task> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(runtime.submit(cpu([] {})));
  runtime.wait();
  for (const Task& task : tasks) {
    EXPECT_NO_THROW(task.get());
    EXPECT_EQ(task.state(), TaskState::Done);
  }
}

TEST_F(Tasks, HandlesMayOutliveTheRuntime) {
  Task task;
  {
    Runtime runtime(options_for("cpu:1"));
    task = runtime.submit({.name = "old"}, cpu([] {}));
  }
  EXPECT_EQ(task.name(), "old");
  EXPECT_EQ(task.state(), TaskState::Done);
  EXPECT_NO_THROW(task.get());
  EXPECT_TRUE(task.wait_for(Seconds{1.0}));
  EXPECT_FALSE(task.cancel());
}

TEST_F(Tasks, HandlesThatAreEmptyAreRefused) {
  const Task empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(empty.get(), InvalidArgument);
  EXPECT_THROW(empty.wait_for(Seconds{1.0}), InvalidArgument);
  EXPECT_THROW(empty.cancel(), InvalidArgument);
  EXPECT_THROW(empty.id(), InvalidArgument);
  EXPECT_THROW(empty.name(), InvalidArgument);
  EXPECT_THROW(empty.state(), InvalidArgument);
}

TEST_F(Tasks, HandlesMayBeCopiedMovedAndDroppedWhileTheTaskRuns) {
  Runtime runtime(options_for("cpu:2"));
  std::atomic<int> ran{0};
  for (int i = 0; i < 500; ++i) {
    Task task = runtime.submit(cpu([&] { ++ran; }));
    Task copy = task;
    Task moved = std::move(task);
    copy = moved;
    EXPECT_EQ(copy.id(), moved.id());
  }
  runtime.wait();
  EXPECT_EQ(ran, 500);
}

// ---- cancel
// -------------------------------------------------------------------------------------------------------

TEST_F(Tasks, ThatAreWithdrawnNeverRunAndTakeTheirDependantsAlong) {
  for (const int priority : {0, 2}) {
    Runtime runtime(options_for("cpu:1"));
    Gate gate;
    std::atomic<int> ran{0};
    const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
    eventually([&] { return blocker.state() == TaskState::Running; });
    const Task ready = runtime.submit({.name = "ready", .priority = priority}, cpu([&] { ++ran; }));
    const Task after = runtime.submit({.name = "after", .after = {ready}}, cpu([&] { ++ran; }));
    const Task waiting = runtime.submit({.name = "waiting", .after = {blocker}}, cpu([&] { ++ran; }));
    EXPECT_TRUE(ready.cancel());
    EXPECT_TRUE(waiting.cancel());
    EXPECT_FALSE(blocker.cancel()) << "it runs already";
    gate.open();
    EXPECT_NO_THROW(runtime.wait()) << "what was withdrawn on purpose is no failure";
    for (const Task& task : {ready, after, waiting}) {
      EXPECT_EQ(task.state(), TaskState::Cancelled);
      try {
        task.get();
        ADD_FAILURE() << "no exception";
      } catch (const TaskError& error) {
        EXPECT_EQ(error.failure(), TaskFailure::Cancelled);
        EXPECT_TRUE(holds(error.what(), {task.name(), "cancelled"}));
        if (task.id() == after.id()) {
          EXPECT_TRUE(holds(error.what(), {"needs was cancelled: task 'ready'"}));
        }
      }
    }
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(blocker.state(), TaskState::Done);
    EXPECT_FALSE(ready.cancel()) << "it is over";
  }
}

TEST_F(Tasks, ThatAreWithdrawnLeaveTheirDataToTheNextWriter) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({4});
  Gate gate;
  runtime.submit(testing::set_to(), 1, data);
  runtime.submit(cpu([&](View<int>) { gate.pass(); }), data);
  const Task update = runtime.submit(testing::add(), 5, data);
  EXPECT_TRUE(update.cancel());
  gate.open();
  try {
    runtime.read(data);
    ADD_FAILURE() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.task(), update.name()) << "what was withdrawn is named, not the read";
    EXPECT_TRUE(holds(error.what(), {update.name(), "cancelled before it ran"}));
  }
  runtime.submit(testing::set_to(), 2, data);
  EXPECT_EQ(runtime.read(data)[0], 2);
}

TEST_F(Tasks, CanBeWithdrawnByManyThreadsWhileTheyRun) {
  Runtime runtime(options_for("cpu:2"));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> ran{0};
    std::vector<Task> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(runtime.submit({.priority = i % 2}, cpu([&] { ++ran; })));
    std::atomic<int> withdrawn{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = static_cast<std::size_t>(t); i < tasks.size(); i += 2)
          if (tasks[i].cancel()) ++withdrawn;
      });
    for (std::thread& thread : threads) thread.join();
    runtime.wait();
    EXPECT_EQ(ran + withdrawn, 100);
  }
}

TEST_F(Tasks, AreAllWithdrawnByTheRuntimeButThoseThatRun) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  std::atomic<int> ran{0};
  auto data = runtime.data<int>({1});
  const Task running = runtime.submit(cpu([&](Out<int> x) {
                                        gate.pass();
                                        x[0] = 1;
                                      }),
                                      data);
  eventually([&] { return running.state() == TaskState::Running; });
  std::vector<Task> tasks;
  for (int i = 0; i < 50; ++i) {
    tasks.push_back(runtime.submit(cpu([&](View<int>) { ++ran; }), data));
    tasks.push_back(runtime.submit({.priority = i}, cpu([&] { ++ran; })));
  }
  runtime.cancel();
  gate.open();
  EXPECT_NO_THROW(runtime.wait());
  EXPECT_EQ(running.state(), TaskState::Done);
  EXPECT_EQ(ran, 0);
  for (const Task& task : tasks) EXPECT_EQ(task.state(), TaskState::Cancelled);
  EXPECT_EQ(runtime.report().cancelled, 100u);
  // The runtime stays usable.
  runtime.submit(testing::set_to(), 3, data);
  EXPECT_EQ(runtime.read(data)[0], 3);
}

}  // namespace
}  // namespace hocket
