// SPDX-License-Identifier: Apache-2.0
// What becomes of a program whose kernels fail: who is told, who is cancelled, and that the runtime stays
// usable.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
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
using Errors = testing::WatchedTest;

/// Collects what the library logs while it lives.
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("captured", std::move(sink)));
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(Errors, NamesTheTaskTheDeviceTheCauseAndThePlace) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, data);
  const int line = __LINE__ + 1;
  const Task task = runtime.submit({.name = "step 7"}, testing::broken(), data);
  try {
    task.get();
    FAIL() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.task(), "step 7");
    EXPECT_EQ(error.device(), "cpu:0");
    EXPECT_EQ(error.failure(), TaskFailure::Failed);
    EXPECT_NE(std::string(error.location().file).find("errors_test.cpp"), std::string::npos);
    EXPECT_EQ(error.location().line, static_cast<std::uint32_t>(line));
    EXPECT_TRUE(
        holds(error.what(), {"step 7", "cpu:0", "broken kernel", "errors_test.cpp:" + std::to_string(line)}));
    ASSERT_NE(error.cause(), nullptr);
    EXPECT_THROW(std::rethrow_exception(error.cause()), std::runtime_error);
    EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
  }
  EXPECT_EQ(task.state(), TaskState::Failed);
}

TEST_F(Errors, NotesThePlaceOfASubmissionWithoutOptions) {
  Runtime runtime(options_for("cpu:1"));
  auto data = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, data);
  const int line = __LINE__ + 1;
  const Task task = runtime.submit(testing::broken(), data);
  EXPECT_TRUE(holds(message_of<TaskError>([&] { task.get(); }),
                    {"broken", "errors_test.cpp:" + std::to_string(line)}));
}

TEST_F(Errors, CarriesExceptionsThatAreNoStandardOnes) {
  Runtime runtime(options_for("cpu:1"));
  const Task task = runtime.submit(cpu([] { throw 42; }));
  try {
    task.get();
    FAIL() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_THROW(std::rethrow_exception(error.cause()), int);
    EXPECT_THROW(std::rethrow_if_nested(error), int);
  }
}

TEST_F(Errors, ThrowTheSameFailureEachTimeATaskIsAsked) {
  Runtime runtime(options_for("cpu:1"));
  const Task task = runtime.submit(cpu([] { throw std::runtime_error("once"); }));
  EXPECT_THROW(task.get(), TaskError);
  EXPECT_THROW(task.get(), TaskError);
  EXPECT_THROW(task.wait_for(Seconds{1.0}), TaskError);
}

TEST_F(Errors, CancelDependantsAndNameTheCulpritToThem) {
  Runtime runtime(options_for("cpu:2"));
  auto a = runtime.data<int>({4});
  auto b = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, a);
  runtime.submit({.name = "culprit"}, testing::broken(), a);
  const Task child = runtime.submit({.name = "child"}, testing::copy(), a, b);
  const Task grandchild = runtime.submit({.name = "grandchild"}, testing::add(), 1, b);
  try {
    grandchild.get();
    FAIL() << "no exception";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.failure(), TaskFailure::Cancelled);
    EXPECT_EQ(error.task(), "grandchild");
    EXPECT_EQ(error.device(), "");
    EXPECT_TRUE(holds(error.what(), {"grandchild", "cancelled", "culprit", "broken kernel"}));
    EXPECT_THROW(std::rethrow_if_nested(error), TaskError);
  }
  EXPECT_EQ(child.state(), TaskState::Cancelled);
  const std::string message = message_of<TaskError>([&] { runtime.read(b); });
  EXPECT_TRUE(holds(message, {"culprit", "broken kernel"}));
}

TEST_F(Errors, ReachTasksThatAreSubmittedAfterTheFailure) {
  Runtime runtime(options_for("cpu:1"));
  auto a = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, a);
  const Task failed = runtime.submit(testing::broken(), a);
  EXPECT_THROW(failed.get(), TaskError);
  const Task late = runtime.submit(testing::add(), 1, a);
  EXPECT_THROW(late.get(), TaskError);
  EXPECT_EQ(late.state(), TaskState::Cancelled);
}

TEST_F(Errors, SpareTasksThatOnlyComeLaterInOrder) {
  Runtime runtime(options_for("cpu:2"));
  auto a = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 3, a);
  // A reader that fails: a later writer waits for it, but needs nothing from it.
  const Task reader = runtime.submit(cpu([](View<const int>) { throw std::runtime_error("reader"); }), a);
  const Task writer = runtime.submit(testing::add(), 1, a);
  EXPECT_NO_THROW(writer.get());
  EXPECT_THROW(reader.get(), TaskError);
  EXPECT_EQ(runtime.read(a)[0], 4);
}

TEST_F(Errors, CancelWhatWasAskedToComeAfterTheFailedTask) {
  Runtime runtime(options_for("cpu:2"));
  const Task failed = runtime.submit(cpu([] { throw std::runtime_error("first"); }));
  const Task after = runtime.submit({.after = {failed}}, cpu([] {}));
  EXPECT_THROW(after.get(), TaskError);
  EXPECT_EQ(after.state(), TaskState::Cancelled);
}

TEST_F(Errors, AreOverOnceTheDataIsWrittenAnew) {
  Runtime runtime(options_for("cpu:2"));
  auto a = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, a);
  runtime.submit(testing::broken(), a);
  EXPECT_THROW(runtime.wait(), TaskError);
  EXPECT_THROW(runtime.read(a), TaskError);
  runtime.submit(testing::set_to(), 8, a);
  runtime.submit(testing::add(), 1, a);
  EXPECT_EQ(runtime.read(a)[2], 9);
  EXPECT_NO_THROW(runtime.wait());
}

TEST_F(Errors, CountTheOthersThatFailedAsWell) {
  Runtime runtime(options_for("cpu:2"));
  for (int i = 0; i < 3; ++i) runtime.submit(cpu([] { throw std::runtime_error("one of three"); }));
  const std::string message = message_of<TaskError>([&] { runtime.wait(); });
  EXPECT_TRUE(holds(message, {"one of three", "2 other tasks failed as well"}));
  EXPECT_NO_THROW(runtime.wait());
}

TEST_F(Errors, AreNotReportedTwice) {
  Runtime runtime(options_for("cpu:1"));
  auto a = runtime.data<int>({4});
  runtime.submit(testing::set_to(), 0, a);
  const Task failed = runtime.submit(testing::broken(), a);
  EXPECT_THROW(failed.get(), TaskError);
  EXPECT_NO_THROW(runtime.wait());

  runtime.submit(testing::set_to(), 0, a);
  runtime.submit(testing::broken(), a);
  EXPECT_THROW(runtime.read(a), TaskError);
  EXPECT_NO_THROW(runtime.wait());
}

TEST_F(Errors, AreStillReportedByWaitWhenTheDataIsGone) {
  LogCapture log;  // the contents cannot be brought back, which is logged
  Runtime runtime(options_for("cpu:1"));
  {
    std::vector<int> memory(4, 0);
    auto a = runtime.data(std::span(memory));
    runtime.submit(testing::broken(), a);
  }
  EXPECT_TRUE(holds(message_of<TaskError>([&] { runtime.wait(); }), {"broken kernel"}));
}

TEST_F(Errors, LeaveBorrowedMemoryAsTheFailedKernelLeftItAndTheRuntimeUsable) {
  LogCapture log;
  Runtime runtime(options_for("cpu:2"));
  std::vector<int> memory(4, 1);
  {
    auto a = runtime.data(std::span(memory), {.name = "lost"});
    runtime.submit(testing::broken(), a);
    EXPECT_THROW(runtime.wait(), TaskError);
  }
  auto b = runtime.data(std::span(memory));
  runtime.submit(testing::add(), 1, b);
  EXPECT_EQ(runtime.read(b)[0], 2);
}

TEST_F(Errors, OfTasksThatNobodyWaitedForAreLoggedAtTheEnd) {
  LogCapture log;
  {
    Runtime runtime(options_for("cpu:1"));
    runtime.submit({.name = "forgotten"}, cpu([] { throw std::runtime_error("unseen"); }));
  }
  EXPECT_TRUE(holds(log.text(), {"forgotten", "unseen"}));
}

TEST_F(Errors, ThatWereReportedAreNotLoggedAtTheEnd) {
  LogCapture log;
  {
    Runtime runtime(options_for("cpu:1"));
    const Task task = runtime.submit(cpu([] { throw std::runtime_error("seen"); }));
    EXPECT_THROW(task.get(), TaskError);
  }
  EXPECT_EQ(log.text(), "");
}

TEST_F(Errors, InTheFirstAMiddleOrTheLastTaskOfAChainNeverHang) {
  constexpr int kTasks = 9;
  for (const char* const devices : {"cpu:1", "cpu:2"}) {
    for (const int bad : {0, kTasks / 2, kTasks - 1}) {
      Runtime runtime(options_for(devices));
      std::vector<int> values(4, 0);
      auto data = runtime.data(std::span(values));
      std::atomic<int> ran{0};
      for (int i = 0; i < kTasks; ++i)
        runtime.submit(cpu([&ran, i, bad](View<int>) {
                         if (i == bad) throw std::runtime_error("link " + std::to_string(i));
                         ++ran;
                       }),
                       data);
      EXPECT_TRUE(holds(message_of<TaskError>([&] { runtime.wait(); }), {"link " + std::to_string(bad)}));
      EXPECT_EQ(ran, bad);
      runtime.submit(testing::set_to(), 1, data);  // so that giving the memory back meets no failure
    }
  }
}

TEST_F(Errors, ByTheThousandAreAllCounted) {
  Runtime runtime(options_for("cpu:2"));
  constexpr int kTasks = 1000;
  std::vector<Task> tasks;
  for (int i = 0; i < kTasks; ++i)
    tasks.push_back(runtime.submit(cpu([i] {
      if (i % 2 == 0) throw std::runtime_error("even");
    })));
  EXPECT_TRUE(holds(message_of<TaskError>([&] { runtime.wait(); }), {"499 other tasks"}));
  int failed = 0;
  for (const Task& task : tasks) failed += task.state() == TaskState::Failed ? 1 : 0;
  EXPECT_EQ(failed, kTasks / 2);
  EXPECT_EQ(runtime.report().failed, static_cast<std::uint64_t>(kTasks / 2));
}

TEST_F(Errors, ReachAThreadThatWasWaitingAlready) {
  Runtime runtime(options_for("cpu:1"));
  Gate gate;
  const Task task = runtime.submit(cpu([&] {
    gate.pass();
    throw std::runtime_error("late");
  }));
  std::string message;
  std::thread waiter([&] { message = message_of<TaskError>([&] { task.get(); }); });
  gate.open();
  waiter.join();
  EXPECT_TRUE(holds(message, {"late"}));
}

TEST_F(Errors, OutliveTheRuntime) {
  LogCapture log;
  Task failed;
  Task cancelled;
  {
    Runtime runtime(options_for("cpu:1"));
    failed = runtime.submit({.name = "early"}, cpu([] { throw std::runtime_error("gone"); }));
    cancelled = runtime.submit({.name = "dependant", .after = {failed}}, cpu([] {}));
  }
  EXPECT_TRUE(holds(message_of<TaskError>([&] { failed.get(); }), {"early", "gone"}));
  EXPECT_TRUE(holds(message_of<TaskError>([&] { cancelled.wait_for(Seconds{1.0}); }), {"dependant", "gone"}));
}

}  // namespace
}  // namespace hocket
