// SPDX-License-Identifier: Apache-2.0
// MRAM banks, their allocator, the host's transfers, and the queue of the device.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pim/dpu_set.hpp"
#include "pim/mram_allocator.hpp"
#include "pim/serial_executor.hpp"

namespace hocket::dpu {
namespace {

TEST(PimMramAllocator, HandsOutTheFirstRangeThatFits) {
  MramAllocator allocator(1024);
  const MramAddress a = allocator.allocate(100);
  const MramAddress b = allocator.allocate(8);
  const MramAddress c = allocator.allocate(200);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(b, 104u);
  EXPECT_EQ(c, 112u);
  allocator.release(a);
  EXPECT_EQ(allocator.allocate(112), 312u);  // the hole of 104 is too small
  EXPECT_EQ(allocator.allocate(50), 0u);
}

TEST(PimMramAllocator, GivesEvenNothingAnAddressOfItsOwn) {
  MramAllocator allocator(64);
  const MramAddress a = allocator.allocate(0);
  EXPECT_NE(a, allocator.allocate(0));
}

TEST(PimMramAllocator, MergesNeighboursInEveryOrderOfRelease) {
  std::vector<int> order{0, 1, 2, 3};
  do {
    MramAllocator allocator(400);
    std::vector<MramAddress> addresses;
    addresses.reserve(4);
    for (int i = 0; i < 4; ++i) addresses.push_back(allocator.allocate(100 - 4 * (i % 2)));
    for (const int i : order) allocator.release(addresses[static_cast<std::size_t>(i)]);
    EXPECT_EQ(allocator.free_bytes(), 400u);
    EXPECT_EQ(allocator.largest_free_bytes(), 400u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PimMramAllocator, SaysTheSizesWhenMemoryRunsOut) {
  MramAllocator allocator(1024);
  const MramAddress a = allocator.allocate(256);
  allocator.allocate(256);
  allocator.release(a);
  try {
    allocator.allocate(600);
    FAIL() << "should have thrown";
  } catch (const OutOfMemory& error) {
    const std::string message = error.what();
    for (const char* part : {"600 bytes", "768 of 1024", "has 512"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_THROW(allocator.allocate(static_cast<std::size_t>(-1)), OutOfMemory);
}

TEST(PimMramAllocator, RefusesAReleaseOfWhatWasNotAllocated) {
  MramAllocator allocator(1024);
  const MramAddress a = allocator.allocate(64);
  EXPECT_THROW(allocator.release(a + 8), InvalidArgument);
  allocator.release(a);
  EXPECT_THROW(allocator.release(a), InvalidArgument);
}

TEST(PimMramAllocator, NeverHandsOutOverlappingRanges) {
  std::mt19937 random(3);
  MramAllocator allocator(1 << 16);
  std::map<std::size_t, std::size_t> live;
  std::size_t used = 0;
  for (int step = 0; step < 5000; ++step) {
    if (random() % 2 == 0 && !live.empty()) {
      auto victim = live.begin();
      std::advance(victim, random() % live.size());
      allocator.release(static_cast<MramAddress>(victim->first));
      used -= victim->second;
      live.erase(victim);
      continue;
    }
    const std::size_t bytes = round_up_to_granule(1 + random() % 3000);
    try {
      const std::size_t address = allocator.allocate(bytes);
      ASSERT_EQ(address % 8, 0u);
      ASSERT_LE(address + bytes, std::size_t{1} << 16);
      const auto next = live.upper_bound(address);
      if (next != live.end()) {
        ASSERT_LE(address + bytes, next->first);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, address);
      }
      live.emplace(address, bytes);
      used += bytes;
    } catch (const OutOfMemory&) {
      ASSERT_LT(allocator.largest_free_bytes(), bytes);
    }
    ASSERT_EQ(allocator.free_bytes(), (std::size_t{1} << 16) - used);
  }
}

TEST(PimBanks, CostNothingUntilTheyAreTouched) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  DpuSet set({.dpus = kMaximumDpus, .tasklets = 1});
  std::uint64_t value = 77;
  set.copy_to(kMaximumDpus - 1, kMramBytes - 8, &value, 8);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "in KiB, of 160 GiB reserved";
  std::uint64_t read = 0;
  set.copy_from(kMaximumDpus - 1, kMramBytes - 8, &read, 8);
  EXPECT_EQ(read, 77u);
}

TEST(PimHostTransfer, GatherBringsBackWhatScatterSent) {
  DpuSet set({.dpus = 7, .tasklets = 1});
  std::vector<std::uint32_t> values(7 * 30);
  std::iota(values.begin(), values.end(), 1u);
  set.scatter(800, values.data(), 120);
  std::vector<std::uint32_t> back(values.size());
  set.gather(800, back.data(), 120);
  EXPECT_EQ(back, values);
  std::uint32_t part[2];
  set.copy_from(3, 800, part, 8);
  EXPECT_EQ(part[0], 91u);
}

TEST(PimHostTransfer, BroadcastReachesEveryDpu) {
  DpuSet set({.dpus = 9, .tasklets = 1});
  const double value = 2.5;
  set.broadcast(16, &value, 8);
  for (unsigned dpu = 0; dpu < 9; ++dpu) {
    double read = 0;
    set.copy_from(dpu, 16, &read, 8);
    EXPECT_EQ(read, 2.5);
  }
}

TEST(PimHostTransfer, RefusesWhatTheInterfaceCannotDo) {
  DpuSet set({.dpus = 2, .tasklets = 1});
  std::vector<std::byte> host(4096);
  EXPECT_THROW(set.scatter(4, host.data(), 8), TransferError);
  EXPECT_THROW(set.gather(0, host.data(), 12), TransferError);
  EXPECT_THROW(set.broadcast(kMramBytes - 8, host.data(), 16), TransferError);
  EXPECT_THROW(set.copy_to(2, 0, host.data(), 8), TransferError);
  EXPECT_THROW(set.copy_from(0, 0, host.data(), 4), TransferError);
}

TEST(PimQueue, RunsJobsOfSeveralThreadsOneAtATimeAndEachThreadsInOrder) {
  std::vector<std::vector<int>> seen(4);
  int running = 0;
  {
    SerialExecutor executor;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          executor.submit([&, t, i] {
            EXPECT_EQ(++running, 1);
            seen[static_cast<std::size_t>(t)].push_back(i);
            --running;
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }  // the destructor runs what is left
  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  for (const auto& jobs : seen) EXPECT_EQ(jobs, expected);
}

TEST(PimQueue, DrainWaitsForWhatWasSubmitted) {
  SerialExecutor executor;
  int done = 0;
  for (int i = 0; i < 100; ++i) executor.submit([&] { ++done; });
  executor.drain();
  EXPECT_EQ(done, 100);
}

TEST(PimQueue, TakesJobsFromJobs) {
  std::atomic<int> done{0};
  {
    SerialExecutor executor;
    executor.submit([&] { executor.submit([&] { ++done; }); });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace hocket::dpu
