// SPDX-License-Identifier: Apache-2.0
// Policies: the built-in ones give right results, and a user's own is obeyed.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
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
using Policies = testing::WatchedTest;

/// The task that came last runs first; counts what it is told.
class LastInFirstOut final : public Policy {
 public:
  struct Counts {
    std::atomic<int> pushed{0};
    std::atomic<int> finished{0};
    std::atomic<int> candidates{0};
  };
  explicit LastInFirstOut(Counts& counts) : counts_(counts) {}

  std::string_view name() const override { return "lifo"; }
  void start(const PolicyMachine& machine) override { workers_ = machine.device_of_worker.size(); }
  std::optional<DeviceId> push(const ReadyTask& task, Seconds) override {
    ++counts_.pushed;
    counts_.candidates += static_cast<int>(task.candidates.size());
    ready_.push_back(task.id);
    return std::nullopt;
  }
  std::optional<ReadyTaskId> pop(WorkerId worker, Seconds) override {
    EXPECT_LT(index(worker), workers_);
    if (ready_.empty()) return std::nullopt;
    const ReadyTaskId task = ready_.back();
    ready_.pop_back();
    return task;
  }
  void finished(ReadyTaskId, WorkerId, Seconds execution, Seconds) override {
    EXPECT_GE(execution.count, 0.0);
    ++counts_.finished;
  }

 private:
  Counts& counts_;
  std::size_t workers_ = 0;
  std::deque<ReadyTaskId> ready_;
};

TEST_F(Policies, OfTheUsersOwnAreObeyed) {
  LastInFirstOut::Counts counts;
  RuntimeOptions options = options_for("cpu:1", "eft");  // the user's object wins
  options.custom_policy = [&] { return std::make_unique<LastInFirstOut>(counts); };
  Runtime runtime(options);
  EXPECT_EQ(runtime.policy(), "lifo");
  Gate gate;
  std::vector<int> order;
  const Task blocker = runtime.submit(cpu([&] { gate.pass(); }));
  eventually([&] { return blocker.state() == TaskState::Running; });
  for (int i = 0; i < 5; ++i) runtime.submit({.priority = 1}, cpu([&order, i] { order.push_back(i); }));
  gate.open();
  runtime.wait();
  EXPECT_EQ(order, (std::vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(counts.pushed, 5);
  EXPECT_EQ(counts.finished, 5);
  EXPECT_EQ(counts.candidates, 5);
}

TEST_F(Policies, ThatAreNotThereAreRefused) {
  RuntimeOptions options = options_for("cpu:1");
  options.custom_policy = [] { return std::unique_ptr<Policy>(); };
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { Runtime runtime(options); }), {"custom_policy"}));
}

TEST_F(Policies, AllGiveTheResultOfSequentialExecution) {
  for (const std::string& policy : policy_names()) {
    for (const int priorities : {1, 3}) {
      Runtime runtime(options_for("cpu:2", policy));
      std::vector<std::uint32_t> memory(32, 1);
      std::vector<std::uint32_t> expected(32, 1);
      const Codelet step{"step", cpu([](std::uint32_t value, View<std::uint32_t> x) {
                           for (std::uint32_t& element : x) element = element * 1664525u + value;
                         })};
      {
        auto data = runtime.data(std::span(memory));
        for (std::uint32_t i = 0; i < 150; ++i) {
          const std::size_t offset = (i * 7) % 20;
          const std::size_t extent = 1 + (i * 5) % 12;
          runtime.submit({.priority = static_cast<int>(i) % priorities - 1 + (priorities == 1 ? 1 : 0)}, step,
                         i, data.block({offset}, {extent}));
          for (std::size_t e = offset; e < offset + extent; ++e) expected[e] = expected[e] * 1664525u + i;
        }
      }
      EXPECT_EQ(memory, expected) << policy;
    }
  }
}

TEST_F(Policies, AllSurviveFailuresAndWithdrawals) {
  for (const std::string& policy : policy_names()) {
    Runtime runtime(options_for("cpu:2", policy));
    std::atomic<int> ran{0};
    int withdrawn = 0;
    for (int i = 0; i < 200; ++i) {
      const Task task = runtime.submit({.priority = 1 + i % 3}, cpu([&ran, i] {
                                         ++ran;
                                         if (i % 11 == 0) throw std::runtime_error("eleventh");
                                       }));
      if (i % 4 == 0 && task.cancel()) ++withdrawn;
    }
    try {
      runtime.wait();
    } catch (const TaskError&) {
    }
    EXPECT_EQ(ran + withdrawn, 200) << policy;
    EXPECT_NO_THROW(runtime.submit({.priority = 1}, cpu([] {})).get());
  }
}

}  // namespace
}  // namespace hocket
