// SPDX-License-Identifier: Apache-2.0
// Totals and events of a run, recorded by many threads.
#include "trace/recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <hocket/error.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hocket::trace {
namespace {

constexpr DeviceId kCpu{0};
constexpr DeviceId kPim{1};
constexpr MemoryNodeId kPimNode{1};

DeviceReport described(DeviceId id, const char* name, std::uint32_t workers) {
  DeviceReport device;
  device.id = id;
  device.name = name;
  device.workers = workers;
  return device;
}

// A CPU with four workers, and a PIM device.
class RecorderOfTwoDevices {
 public:
  explicit RecorderOfTwoDevices(bool events) : recorder(events, {"host", "pim:0"}) {
    DeviceReport pim = described(kPim, "pim:0", 1);
    pim.modelled = Seconds{};
    recorder.describe_devices({described(kCpu, "cpu:0", 4), pim});
  }

  void task(DeviceId device, std::uint32_t worker, double begin, double end, bool failed = false,
            std::optional<Seconds> modelled = std::nullopt) {
    const std::string name = "a task with a name that is long";
    const std::string codelet = "codelet";
    TaskRecord record;
    record.id = TaskId{++id_};
    record.name = &name;
    record.codelet = &codelet;
    record.device = device;
    record.worker = worker;
    record.ready = record.begin = Seconds{begin};
    record.end = Seconds{end};
    record.modelled = modelled;
    record.flops = 100.0;
    record.failed = failed;
    recorder.task(record);
  }
  void transfer(MemoryNodeId from, MemoryNodeId to, std::uint64_t bytes, double begin, double end) {
    const std::string data = "data";
    recorder.transfer(
        {&data, from, to, Bytes{bytes}, TransferReason::WriteBack, Seconds{begin}, Seconds{end}});
  }

  Recorder recorder;

 private:
  std::atomic<std::uint64_t> id_{0};
};

TEST(Recorder, ReportsNothingWhenNothingRan) {
  const RecorderOfTwoDevices world(true);
  const Report report = world.recorder.take(Seconds{5.0}, "ws");
  EXPECT_EQ(report.end, Seconds{5.0});
  EXPECT_EQ(report.policy, "ws");
  EXPECT_EQ(report.makespan, Seconds{});
  EXPECT_EQ(report.tasks, 0u);
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].workers, 4u);
  EXPECT_FALSE(report.devices[0].modelled);
  EXPECT_TRUE(report.devices[1].modelled) << "an emulated device has a modelled time even when idle";
  EXPECT_TRUE(report.links.empty());
}

TEST(Recorder, AddsUpTheTasksOfEachDevice) {
  RecorderOfTwoDevices world(false);
  world.task(kCpu, 0, 1.0, 2.0);
  world.task(kCpu, 3, 1.5, 4.0);
  world.task(kPim, 0, 2.0, 2.5, false, Seconds{8.0});
  world.task(kPim, 0, 3.0, 3.5, false, Seconds{8.0});
  const Report report = world.recorder.take(Seconds{9.0}, "");
  EXPECT_EQ(report.tasks, 4u);
  EXPECT_EQ(report.makespan, Seconds{3.0});
  EXPECT_EQ(report.flops, 400.0);
  EXPECT_EQ(report.devices[0].tasks, 2u);
  EXPECT_EQ(report.devices[0].busy, Seconds{3.5});
  EXPECT_EQ(report.devices[1].busy, Seconds{1.0});
  EXPECT_EQ(report.devices[1].modelled, Seconds{16.0});
  EXPECT_EQ(report.devices[1].flops, 200.0);
}

TEST(Recorder, CountsAFailedTaskAsBusyTimeButNotAsDone) {
  RecorderOfTwoDevices world(false);
  world.task(kCpu, 1, 0.0, 1.0, true);
  world.recorder.cancelled(3);
  world.recorder.cancelled();
  const Report report = world.recorder.take(Seconds{2.0}, "");
  EXPECT_EQ(report.tasks, 0u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_EQ(report.cancelled, 4u);
  EXPECT_EQ(report.flops, 0.0);
  EXPECT_EQ(report.devices[0].busy, Seconds{1.0});
}

TEST(Recorder, KeepsNoEventsUnlessAsked) {
  RecorderOfTwoDevices world(false);
  world.task(kCpu, 0, 0.0, 1.0);
  world.transfer(kHostNode, kPimNode, 8, 0.0, 1.0);
  const Report report = world.recorder.take(Seconds{2.0}, "");
  EXPECT_TRUE(report.task_events.empty());
  EXPECT_TRUE(report.transfer_events.empty());
  EXPECT_EQ(report.tasks, 1u);
}

TEST(Recorder, KeepsEventsOfAllWorkersInOrderOfTheirBegin) {
  RecorderOfTwoDevices world(true);
  world.task(kCpu, 2, 3.0, 4.0);
  world.task(kPim, 0, 1.0, 5.0, true, Seconds{7.0});
  world.task(kCpu, 0, 2.0, 2.5);
  const Report report = world.recorder.take(Seconds{6.0}, "");
  ASSERT_EQ(report.task_events.size(), 3u);
  EXPECT_EQ(report.task_events[0].device, kPim);
  EXPECT_EQ(report.task_events[0].modelled, Seconds{7.0});
  EXPECT_TRUE(report.task_events[0].failed);
  EXPECT_EQ(report.task_events[1].id, TaskId{3});
  EXPECT_EQ(report.task_events[2].worker, 2u);
  EXPECT_EQ(report.task_events[2].name, "a task with a name that is long");
}

TEST(Recorder, TellsTheDirectionsOfALinkApart) {
  RecorderOfTwoDevices world(true);
  world.transfer(kHostNode, kPimNode, 100, 0.0, 1.0);
  world.transfer(kHostNode, kPimNode, 50, 1.0, 1.5);
  world.transfer(kPimNode, kHostNode, 7, 2.0, 3.0);
  const Report report = world.recorder.take(Seconds{4.0}, "");
  ASSERT_EQ(report.links.size(), 2u);
  EXPECT_EQ(report.links[0].from, "host");
  EXPECT_EQ(report.links[0].to, "pim:0");
  EXPECT_EQ(report.links[0].bytes, Bytes{150});
  EXPECT_EQ(report.links[0].copies, 2u);
  EXPECT_EQ(report.links[0].busy, Seconds{1.5});
  EXPECT_EQ(report.links[1].bytes, Bytes{7});
  EXPECT_EQ(report.bytes_moved, Bytes{157});
  EXPECT_EQ(report.transfer_events[2].reason, TransferReason::WriteBack);
}

TEST(Recorder, CountsAConversionWithinANodeAsACopyThatMovesNothing) {
  RecorderOfTwoDevices world(true);
  world.transfer(kHostNode, kHostNode, 64, 0.0, 1.0);
  const Report report = world.recorder.take(Seconds{2.0}, "");
  ASSERT_EQ(report.links.size(), 1u);
  EXPECT_EQ(report.links[0].copies, 1u);
  EXPECT_EQ(report.links[0].bytes, Bytes{64});
  EXPECT_EQ(report.bytes_moved, Bytes{0});
  EXPECT_EQ(report.transfer_events[0].reason, TransferReason::Conversion);
}

TEST(Recorder, StartsANewPeriodAtAReset) {
  RecorderOfTwoDevices world(true);
  world.task(kCpu, 0, 0.0, 1.0);
  world.transfer(kHostNode, kPimNode, 8, 0.0, 1.0);
  world.recorder.cancelled();
  const Report before = world.recorder.take(Seconds{2.0}, "");
  world.recorder.reset(Seconds{2.0});
  world.task(kCpu, 0, 1.5, 3.0);  // began in the period before
  const Report report = world.recorder.take(Seconds{4.0}, "");
  EXPECT_EQ(report.begin, Seconds{2.0});
  EXPECT_EQ(report.tasks, 1u);
  EXPECT_EQ(report.cancelled, 0u);
  EXPECT_TRUE(report.links.empty());
  EXPECT_EQ(report.task_events.size(), 1u);
  EXPECT_EQ(report.makespan, Seconds{1.0});
  EXPECT_EQ(before.task_events.size(), 1u) << "a report that was taken stays as it is";
}

TEST(Recorder, AcceptsDevicesWhoseNumbersHaveGapsAndWorkersBeyondThoseDescribed) {
  Recorder recorder(true, {"host"});
  recorder.describe_devices({described(DeviceId{7}, "seven", 2), described(DeviceId{2}, "two", 0)});
  for (const DeviceId id : {DeviceId{7}, DeviceId{2}}) {
    TaskRecord record;
    record.device = id;
    record.worker = 5;
    recorder.task(record);
  }
  const Report report = recorder.take(Seconds{1.0}, "");
  EXPECT_EQ(report.devices[0].tasks, 1u);
  EXPECT_EQ(report.devices[1].tasks, 1u);
  EXPECT_EQ(report.task_events[0].worker, 5u);
}

TEST(Recorder, RefusesDevicesAndNodesThatItWasNotToldOf) {
  RecorderOfTwoDevices world(false);
  EXPECT_THROW(world.task(DeviceId{2}, 0, 0.0, 1.0), InvalidArgument);
  EXPECT_THROW(world.transfer(kHostNode, MemoryNodeId{2}, 8, 0.0, 1.0), InvalidArgument);
  EXPECT_THROW(world.recorder.describe_devices({described(kCpu, "a", 1), described(kCpu, "b", 1)}),
               InvalidArgument);
  Recorder none(false, {});
  EXPECT_EQ(none.take(Seconds{1.0}, "").devices.size(), 0u);
}

TEST(Recorder, LosesNothingWhenAllWorkersRecordAtOnce) {
  constexpr std::uint32_t kThreads = 5;
  constexpr std::uint64_t kEach = 2000;
  RecorderOfTwoDevices world(true);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&world, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        // Every other task on one and the same worker, so that threads also meet in a slot.
        const double begin = static_cast<double>(i);
        world.task(i % 2 == 0 ? kPim : kCpu, t % 4, begin, begin + 0.5, i % 10 == 9, Seconds{1.0});
        world.transfer(t % 2 == 0 ? kHostNode : kPimNode, kPimNode, 3, begin, begin + 0.25);
        world.recorder.cancelled();
      }
    });
  for (std::thread& thread : threads) thread.join();

  const Report report = world.recorder.take(Seconds{1e6}, "");
  constexpr std::uint64_t kAll = kThreads * kEach;
  EXPECT_EQ(report.tasks, kAll * 9 / 10);
  EXPECT_EQ(report.failed, kAll / 10);
  EXPECT_EQ(report.cancelled, kAll);
  EXPECT_EQ(report.devices[0].busy + report.devices[1].busy, Seconds{0.5 * kAll});
  EXPECT_EQ(report.devices[1].modelled, Seconds{kAll / 2.0});
  EXPECT_EQ(report.flops, 100.0 * static_cast<double>(report.tasks));
  EXPECT_EQ(report.bytes_moved, Bytes{3 * kEach * 3});
  EXPECT_EQ(report.links[0].copies + report.links[1].copies, kAll);
  EXPECT_EQ(report.makespan, Seconds{kEach - 0.5});
  std::set<TaskId> ids;
  for (const TaskEvent& event : report.task_events) ids.insert(event.id);
  EXPECT_EQ(ids.size(), kAll);
  EXPECT_EQ(report.transfer_events.size(), kAll);
}

TEST(Recorder, TakesReportsThatAgreeWithThemselvesWhileWorkersRecord) {
  RecorderOfTwoDevices world(true);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  // Each thread records on the CPU, then on the PIM device: at no moment can the second have more.
  for (std::uint32_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000 && !stop.load(std::memory_order_relaxed); ++i) {
        world.task(kCpu, t, 0.0, 1.0);
        world.task(kPim, 0, 0.0, 1.0);
      }
    });
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const Report report = world.recorder.take(Seconds{1.0}, "");
    EXPECT_EQ(report.task_events.size(), report.tasks);
    EXPECT_GE(report.devices[0].tasks, report.devices[1].tasks);
    EXPECT_LE(report.devices[0].tasks, report.devices[1].tasks + 2);
    EXPECT_EQ(report.devices[0].busy.count, static_cast<double>(report.devices[0].tasks));
    for (const TaskEvent& event : report.task_events) ASSERT_EQ(event.codelet, "codelet");
    EXPECT_GE(report.tasks, last);
    last = report.tasks;
  }
  world.recorder.reset(Seconds{1.0});
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hocket::trace
