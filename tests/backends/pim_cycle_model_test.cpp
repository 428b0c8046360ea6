// SPDX-License-Identifier: Apache-2.0
// Modelled times against closed forms worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "pim/cycle_model.hpp"
#include "pim/dpu_set.hpp"

namespace hocket::dpu {
namespace {

TEST(PimCycles, OfOneTaskletAre11ForEachInstruction) {
  DpuSet set({.dpus = 1, .tasklets = 1});
  EXPECT_EQ(set.launch([](Tasklet& tasklet) { tasklet.charge(1000); }).longest_dpu_cycles, 11000u);
}

TEST(PimCycles, FallWithTheNumberOfTaskletsUpTo11) {
  for (const unsigned tasklets : {1u, 2u, 4u, 8u, 11u, 12u, 16u, 24u}) {
    DpuSet set({.dpus = 1, .tasklets = tasklets});
    const auto report = set.launch([&](Tasklet& tasklet) { tasklet.charge(264000 / tasklets); });
    EXPECT_EQ(report.longest_dpu_cycles, tasklets < 11 ? 264000u / tasklets * 11 : 264000u) << tasklets;
    EXPECT_EQ(report.instructions, 264000u);
  }
}

TEST(PimCycles, OfOneUnevenTaskletAreItsChain) {
  DpuSet set({.dpus = 1, .tasklets = 16});
  const auto report = set.launch([](Tasklet& tasklet) { tasklet.charge(tasklet.id() == 3 ? 1000 : 10); });
  EXPECT_EQ(report.longest_dpu_cycles, 11000u);  // the pipeline needs 1150 only
}

TEST(PimCycles, OfDmaAreSetupPlusHalfACycleForEachByte) {
  DpuSet set({.dpus = 1, .tasklets = 1});
  const auto report = set.launch([](Tasklet& tasklet) {
    auto* wram = tasklet.wram<double>(256);
    tasklet.read(0, wram, 256);
    tasklet.write(wram, 0, 1);
  });
  EXPECT_EQ(report.longest_dpu_cycles, (77u + 1024u) + (61u + 4u));
  EXPECT_EQ(report.dma_bytes, 2056u);
}

TEST(PimCycles, OfDmaAddUpOverTaskletsSinceThereIsOneEngine) {
  DpuSet set({.dpus = 1, .tasklets = 16});
  const auto report = set.launch([](Tasklet& tasklet) {
    auto* wram = tasklet.wram<double>(128);
    tasklet.read(0, wram, 128);
    tasklet.charge(100);  // 1600 in the pipeline, hidden behind the DMA
  });
  EXPECT_EQ(report.longest_dpu_cycles, 16u * (77u + 512u));
}

TEST(PimCycles, ChainAddsATaskletsOwnDmaToItsInstructions) {
  DpuSet set({.dpus = 1, .tasklets = 2});
  const auto report = set.launch([](Tasklet& tasklet) {
    if (tasklet.id() == 1) return;
    tasklet.read(0, tasklet.wram<double>(2), 2);
    tasklet.charge(50);
  });
  EXPECT_EQ(report.longest_dpu_cycles, 11u * 50u + 77u + 8u);
}

TEST(PimCycles, OfBarriersAreAdded) {
  const auto cycles = [](unsigned tasklets) {
    DpuSet set({.dpus = 1, .tasklets = tasklets});
    return set
        .launch([](Tasklet& tasklet) {
          for (int i = 0; i < 3; ++i) tasklet.barrier();
        })
        .longest_dpu_cycles;
  };
  EXPECT_EQ(cycles(24), 3u * 10u * 24u);
  EXPECT_EQ(cycles(5), 3u * 10u * 11u);
}

TEST(PimCycles, OfAMutexAreOneInstructionForEachCall) {
  DpuSet set({.dpus = 1, .tasklets = 12});
  const auto report = set.launch([](Tasklet& tasklet) {
    for (int i = 0; i < 5; ++i) {
      tasklet.lock(1);
      tasklet.unlock(1);
    }
  });
  EXPECT_EQ(report.instructions, 12u * 10u);
}

TEST(PimCycles, OfALaunchAreThoseOfItsSlowestDpu) {
  DpuSet set({.dpus = 8, .tasklets = 11});
  const auto report = set.launch([](Tasklet& tasklet) { tasklet.charge(1000 * (1 + tasklet.dpu() % 5)); });
  EXPECT_EQ(report.longest_dpu_cycles, 55000u);
  EXPECT_NEAR(report.modelled.count, 200e-6 + 55000 / 350e6, 1e-12);
}

TEST(PimCycles, OfVectorAdditionFollowTheDmaBound) {
  // int32, blocks of 1 KiB, two reads and a write for each: (2 * 589 + 573) / 256 cycles for each element.
  constexpr std::size_t kElements = 256 * 16 * 8;
  DpuSet set({.dpus = 1, .tasklets = 16});
  const auto report = set.launch([](Tasklet& tasklet) {
    auto a = tasklet.buffer<std::int32_t>(256), b = tasklet.buffer<std::int32_t>(256);
    for_each_block(tasklet, kElements, 256, [&](std::size_t first, std::size_t count) {
      const auto address = static_cast<MramAddress>(first * 4);
      const std::int32_t* x = a.load(address, count);
      std::int32_t* y = b.load(address + kElements * 4, count);
      for (std::size_t i = 0; i < count; ++i) y[i] += x[i];
      tasklet.charge<std::int32_t>(Operation::Add, count);
      b.store(address + kElements * 4, count);
    });
  });
  EXPECT_EQ(report.instructions, 6u * kElements);
  EXPECT_EQ(report.longest_dpu_cycles, kElements / 256 * (2 * 589 + 573));
}

TEST(PimInstructions, FollowTheMeasuredThroughput) {
  EXPECT_EQ(instructions_per<std::int32_t>(Operation::Add), 6u);
  EXPECT_EQ(instructions_per<std::uint8_t>(Operation::Add), 6u);
  EXPECT_EQ(instructions_per<std::int64_t>(Operation::Add), 7u);
  EXPECT_EQ(instructions_per<std::int32_t>(Operation::Multiply), 34u);
  EXPECT_EQ(instructions_per<float>(Operation::Add), 71u);
  EXPECT_EQ(instructions_per<float>(Operation::Multiply), 183u);
  // Clock over measured operations per second, in millions, of one DPU.
  const auto near = [](std::uint64_t instructions, double mops) {
    EXPECT_NEAR(static_cast<double>(instructions), 350.0 / mops, 0.5 + 0.01 * 350.0 / mops);
  };
  near(instructions_per<std::int32_t>(Operation::Divide), 11.27);
  near(instructions_per<std::int64_t>(Operation::Multiply), 2.56);
  near(instructions_per<std::int64_t>(Operation::Divide), 1.40);
  near(instructions_per<float>(Operation::Subtract), 4.59);
  near(instructions_per<float>(Operation::Divide), 0.34);
  near(instructions_per<double>(Operation::Add), 3.32);
  near(instructions_per<double>(Operation::Subtract), 3.11);
  near(instructions_per<double>(Operation::Multiply), 0.53);
  near(instructions_per<double>(Operation::Divide), 0.16);
}

TEST(PimTransferTime, MeetsTheMeasuredRatesAtBothEnds) {
  EXPECT_NEAR(rank_bytes_per_second(TransferKind::ToDpus, 1), 0.33e9, 1);
  EXPECT_NEAR(rank_bytes_per_second(TransferKind::FromDpus, 1), 0.12e9, 1);
  EXPECT_NEAR(rank_bytes_per_second(TransferKind::ToDpus, 64), 6.68e9, 10);
  EXPECT_NEAR(rank_bytes_per_second(TransferKind::FromDpus, 64), 4.74e9, 10);
  EXPECT_NEAR(rank_bytes_per_second(TransferKind::Broadcast, 64), 16.88e9, 10);
}

TEST(PimTransferTime, OfAFullRankIsItsBytesOverItsRate) {
  DpuSet set({.dpus = 64, .tasklets = 1});
  const std::vector<std::byte> host(64 * 8192);
  EXPECT_NEAR(set.scatter(0, host.data(), 8192).count, 130e-6 + 64 * 8192 / 6.68e9, 1e-12);
  std::vector<std::byte> back(64 * 8192);
  EXPECT_NEAR(set.gather(0, back.data(), 8192).count, 130e-6 + 64 * 8192 / 4.74e9, 1e-12);
  EXPECT_NEAR(set.broadcast(0, host.data(), 8192).count, 130e-6 + 64 * 8192 / 16.88e9, 1e-12);
  EXPECT_NEAR(set.copy_to(5, 0, host.data(), 8192).count, 130e-6 + 8192 / 0.33e9, 1e-12);
  EXPECT_NEAR(set.copy_from(5, 0, back.data(), 8192).count, 130e-6 + 8192 / 0.12e9, 1e-12);
}

TEST(PimTransferTime, DoesNotGrowWithTheNumberOfRanks) {
  const Seconds one = transfer_seconds(TransferKind::ToDpus, 64, 4096);
  EXPECT_DOUBLE_EQ(transfer_seconds(TransferKind::ToDpus, 2560, 4096).count, one.count);
  EXPECT_GE(transfer_seconds(TransferKind::ToDpus, 65, 4096).count, one.count);
}

TEST(PimTransferTime, OfNothingIsNothing) {
  EXPECT_EQ(transfer_seconds(TransferKind::ToDpus, 64, 0).count, 0.0);
  EXPECT_EQ(transfer_seconds(TransferKind::FromDpus, 0, 64).count, 0.0);
}

}  // namespace
}  // namespace hocket::dpu
