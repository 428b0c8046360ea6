// SPDX-License-Identifier: Apache-2.0
// What the errors of tasks tell a program, as the guide shows it.
#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

namespace hk = hocket;
using Errors = testing::WatchedTest;

// What went wrong, from the task that was asked for down to what a kernel threw.
void tell(const std::exception& error, std::vector<std::string>& story) {
  const auto* const of_task = dynamic_cast<const hk::TaskError*>(&error);
  if (of_task == nullptr) {
    story.emplace_back(error.what());
    return;
  }
  const bool failed = of_task->failure() == hk::TaskFailure::Failed;
  story.push_back(of_task->task() + (failed ? " failed on " + of_task->device() : " never ran") +
                  ", submitted in line " + std::to_string(of_task->location().line));
  if (of_task->cause() == nullptr) return;  // somebody called cancel()
  try {
    std::rethrow_exception(of_task->cause());
  } catch (const std::exception& cause) {
    tell(cause, story);
  }
}

std::vector<std::string> story_of(const Task& task) {
  std::vector<std::string> story;
  try {
    task.get();
  } catch (const std::exception& error) {
    tell(error, story);
  }
  return story;
}

TEST_F(Errors, LeadFromADependantThatNeverRanToWhatAKernelThrew) {
  Runtime runtime(testing::options_for("cpu:1"));
  const auto x = runtime.data<float>({10});
  const auto failing = cpu([](Out<float>) { throw std::runtime_error("no record"); });
  const int line = __LINE__ + 1;
  const Task load = runtime.submit({.name = "load"}, failing, x);
  const Task scale = runtime.submit({.name = "scale"}, cpu([](View<float>) {}), x);
  const std::string first = "load failed on cpu:0, submitted in line " + std::to_string(line);
  const std::string second = "scale never ran, submitted in line " + std::to_string(line + 1);
  EXPECT_EQ(story_of(load), (std::vector<std::string>{first, "no record"}));
  EXPECT_EQ(story_of(scale), (std::vector<std::string>{second, first, "no record"}));
}

TEST_F(Errors, OfACancelledTaskHaveNoCause) {
  Runtime runtime(testing::options_for("cpu:1"));
  const auto x = runtime.data<float>({10});
  auto view = runtime.overwrite(x);
  const int line = __LINE__ + 1;
  const Task task = runtime.submit({.name = "late"}, cpu([](View<float>) {}), x);
  ASSERT_TRUE(task.cancel());
  { const auto gone = std::move(view); }
  EXPECT_EQ(story_of(task),
            (std::vector<std::string>{"late never ran, submitted in line " + std::to_string(line)}));
}

TEST_F(Errors, OfWhyAreForRunsOfGraphsToo) {
  Runtime runtime(testing::options_for("cpu:1"));
  const Graph graph = runtime.record([](Graph& g) { g.submit(cpu([] {})); });
  const Task run = runtime.run(graph);
  EXPECT_THROW((void)runtime.why(run), InvalidArgument);
  EXPECT_FALSE(run.cancel());
  run.get();
}

}  // namespace
}  // namespace hocket
