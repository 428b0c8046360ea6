// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hocket/error.hpp>
#include <hocket/policy.hpp>

namespace hocket {
namespace {

constexpr DeviceId kCpu{0};
constexpr DeviceId kGpu{1};
constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};
constexpr WorkerId kGpuWorker{2};

/// Two CPU workers and a device.
std::unique_ptr<Policy> started(const char* name) {
  auto policy = make_policy(name);
  policy->start({{kCpu, kCpu, kGpu}, 2});
  return policy;
}

Candidate on(DeviceId device, double execution, double transfer = 0.0) {
  return {device, Seconds{execution}, Seconds{transfer}, Bytes{}, true};
}

std::optional<DeviceId> push(Policy& policy, std::uint64_t id, std::vector<Candidate> candidates,
                             int priority = 0, std::optional<WorkerId> released_by = std::nullopt) {
  return policy.push({ReadyTaskId{id}, priority, candidates, released_by}, Seconds{});
}

std::uint64_t pop(Policy& policy, WorkerId worker) {
  const auto id = policy.pop(worker, Seconds{});
  return id ? static_cast<std::uint64_t>(*id) : 0;
}

TEST(Policies, AreListedAndMadeByName) {
  for (const std::string& name : policy_names()) EXPECT_EQ(make_policy(name)->name(), name);
  try {
    make_policy("fastest");
    FAIL() << "made a policy that does not exist";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("eager, eft, ws"), std::string::npos) << error.what();
  }
}

TEST(Policies, NeverHandATaskToADeviceThatCannotRunIt) {
  for (const std::string& name : policy_names()) {
    const auto policy = started(name.c_str());
    push(*policy, 1, {on(kGpu, 1.0)});
    EXPECT_EQ(pop(*policy, kFirst), 0U) << name;
    EXPECT_EQ(pop(*policy, kSecond), 0U) << name;
    EXPECT_EQ(pop(*policy, kGpuWorker), 1U) << name;
    EXPECT_EQ(pop(*policy, kGpuWorker), 0U) << name;
  }
}

TEST(Policies, HandOutEveryTaskExactlyOnce) {
  for (const std::string& name : policy_names()) {
    const auto policy = started(name.c_str());
    for (std::uint64_t id = 1; id <= 100; ++id)
      push(*policy, id, {on(kCpu, 1.0), on(kGpu, 1.0 + id % 3)}, id % 4);
    std::vector<int> seen(101, 0);
    bool any = true;
    while (any) {
      any = false;
      for (const WorkerId worker : {kFirst, kSecond, kGpuWorker})
        if (const std::uint64_t id = pop(*policy, worker); id != 0) {
          ++seen[id];
          any = true;
        }
    }
    for (std::uint64_t id = 1; id <= 100; ++id) EXPECT_EQ(seen[id], 1) << name << " task " << id;
  }
}

TEST(Policies, RunTheHighestPriorityFirst) {
  for (const std::string& name : policy_names()) {
    const auto policy = started(name.c_str());
    for (const int priority : {0, 5, -3, 2})
      push(*policy, static_cast<std::uint64_t>(priority + 10), {on(kGpu, 1.0)}, priority);
    EXPECT_EQ(pop(*policy, kGpuWorker), 15U) << name;
    EXPECT_EQ(pop(*policy, kGpuWorker), 12U) << name;
    EXPECT_EQ(pop(*policy, kGpuWorker), 10U) << name;
    EXPECT_EQ(pop(*policy, kGpuWorker), 7U) << name;
  }
}

TEST(Eager, ServesInOrderOfArrival) {
  const auto policy = started("eager");
  for (std::uint64_t id = 1; id <= 3; ++id) push(*policy, id, {on(kCpu, 1.0)});
  EXPECT_EQ(pop(*policy, kSecond), 1U);
  EXPECT_EQ(pop(*policy, kFirst), 2U);
}

TEST(WorkStealing, KeepsATaskWithTheWorkerThatMadeItReady) {
  const auto policy = started("ws");
  push(*policy, 1, {on(kCpu, 1.0)}, 0, kFirst);
  push(*policy, 2, {on(kCpu, 1.0)}, 0, kFirst);
  push(*policy, 3, {on(kCpu, 1.0)}, 0, kSecond);
  EXPECT_EQ(pop(*policy, kFirst), 2U) << "its newest";
  EXPECT_EQ(pop(*policy, kSecond), 3U) << "its own before another's";
  EXPECT_EQ(pop(*policy, kSecond), 1U) << "then it steals";
}

TEST(EarliestFinish, WeighsExecutionTransferAndWhatIsQueued) {
  const auto policy = started("eft");
  EXPECT_EQ(push(*policy, 1, {on(kCpu, 4.0), on(kGpu, 1.0, 1.0)}), kGpu);
  // The device has 1 s of work now: 1 + 1 there against 1.5 here.
  EXPECT_EQ(push(*policy, 2, {on(kCpu, 1.5), on(kGpu, 1.0)}), kCpu);
  // A transfer longer than the queue decides.
  EXPECT_EQ(push(*policy, 3, {on(kCpu, 3.0), on(kGpu, 1.0, 5.0)}), kCpu);
  // Once its work is done the device is the better one again.
  EXPECT_EQ(pop(*policy, kGpuWorker), 1U);
  policy->finished(ReadyTaskId{1}, kGpuWorker, Seconds{1.0}, Seconds{});
  EXPECT_EQ(push(*policy, 4, {on(kCpu, 1.5), on(kGpu, 1.0)}), kGpu);
}

}  // namespace
}  // namespace hocket
