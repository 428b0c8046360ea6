// SPDX-License-Identifier: Apache-2.0
// MRAM is reached by DMA alone, under the device's rules, and by what is built on it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "pim/dpu_set.hpp"

namespace hocket::dpu {
namespace {

Configuration one_dpu(unsigned tasklets = 1) { return {.dpus = 1, .tasklets = tasklets}; }

/// Runs the program and returns the message of the DmaError that it must cause.
std::string dma_error(const Program& program, const Configuration& configuration = one_dpu()) {
  DpuSet set(configuration);
  try {
    set.launch(program);
  } catch (const DmaError& error) {
    return error.what();
  }
  ADD_FAILURE() << "the program should have caused a DmaError";
  return {};
}

void expect_names(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST(PimDma, MovesWhatIsWrittenBackUnchanged) {
  DpuSet set(one_dpu());
  std::vector<std::int32_t> values(512);
  std::iota(values.begin(), values.end(), -7);
  set.copy_to(0, 64, values.data(), 2048);
  set.launch([](Tasklet& tasklet) {
    auto* wram = tasklet.wram<std::int32_t>(512);
    tasklet.read(64, wram, 512);
    for (int i = 0; i < 512; ++i) wram[i] *= 2;
    tasklet.write(wram, 4096, 512);
  });
  std::vector<std::int32_t> doubled(512);
  set.copy_from(0, 4096, doubled.data(), 2048);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(doubled[i], 2 * values[i]);
}

TEST(PimDma, RefusesLessThanEightBytes) {
  const std::string message = dma_error([](Tasklet& tasklet) { tasklet.read(0, tasklet.wram<float>(2), 1); });
  expect_names(message, {"dpu 0", "tasklet 0", "read of 4 bytes", "0x0", "at least 8", "copy_in"});
}

TEST(PimDma, RefusesNoBytesAtAll) {
  expect_names(dma_error([](Tasklet& tasklet) { tasklet.read(0, tasklet.wram<float>(2), 0); }),
               {"at least 8"});
}

TEST(PimDma, RefusesMoreThan2048Bytes) {
  const std::string message =
      dma_error([](Tasklet& tasklet) { tasklet.write(tasklet.wram<double>(257), 16, 257); });
  expect_names(message, {"write of 2056 bytes", "0x10", "at most 2048", "blocks"});
}

TEST(PimDma, RefusesSizesThatAreNoMultipleOfEight) {
  const std::string message = dma_error([](Tasklet& tasklet) { tasklet.read(0, tasklet.wram<float>(4), 3); });
  expect_names(message, {"12 bytes", "multiple of 8", "round it up to 16"});
}

TEST(PimDma, RefusesMramAddressesThatAreNoMultipleOfEight) {
  const std::string message =
      dma_error([](Tasklet& tasklet) { tasklet.read(0x2004, tasklet.wram<float>(4), 4); });
  expect_names(message, {"0x2004", "MRAM address must be a multiple of 8", "begin at 0x2000"});
}

TEST(PimDma, RefusesWramAddressesThatAreNoMultipleOfEight) {
  const std::string message =
      dma_error([](Tasklet& tasklet) { tasklet.read(0, tasklet.wram<float>(8) + 1, 2); });
  expect_names(message, {"WRAM address must be a multiple of 8", "4 bytes past"});
}

TEST(PimDma, RefusesVariablesOfTheProgram) {
  const std::string message = dma_error([](Tasklet& tasklet) {
    alignas(8) float local[2] = {};
    tasklet.read(0, local, 2);
  });
  expect_names(message, {"this DPU's WRAM", "wram()"});
}

TEST(PimDma, RefusesRangesThatRunPastWram) {
  const std::string message = dma_error([](Tasklet& tasklet) {
    auto* all = tasklet.wram<std::byte>(kWramBytes);
    tasklet.read(0, all + kWramBytes - 8, 16);
  });
  expect_names(message, {"this DPU's WRAM"});
}

TEST(PimDma, AcceptsTheLastBytesOfBothMemories) {
  DpuSet set(one_dpu());
  EXPECT_NO_THROW(set.launch([](Tasklet& tasklet) {
    auto* all = tasklet.wram<std::byte>(kWramBytes);
    tasklet.read(kMramBytes - 8, all + kWramBytes - 8, 8);
  }));
}

TEST(PimDma, RefusesRangesThatRunPastTheBank) {
  const std::string message =
      dma_error([](Tasklet& tasklet) { tasklet.write(tasklet.wram<double>(2), kMramBytes - 8, 2); });
  expect_names(message, {"0x3fffff8", "within the bank's 67108864 bytes"});
  expect_names(dma_error([](Tasklet& tasklet) { tasklet.read(0xfffffff8u, tasklet.wram<double>(2), 2); }),
               {"within the bank"});
}

TEST(PimDma, NamesTheDpuAndTheTaskletAtFault) {
  const std::string message = dma_error(
      [](Tasklet& tasklet) {
        auto* wram = tasklet.wram<double>(1);
        tasklet.read(tasklet.dpu() == 2 && tasklet.id() == 5 ? 4 : 0, wram, 1);
      },
      {.dpus = 4, .tasklets = 8});
  expect_names(message, {"dpu 2, tasklet 5"});
}

TEST(PimDma, BanksArePrivate) {
  DpuSet set({.dpus = 5, .tasklets = 2});
  set.launch([](Tasklet& tasklet) {
    if (tasklet.id() != 0) return;
    auto* wram = tasklet.wram<std::uint64_t>(1);
    wram[0] = 100 + tasklet.dpu();
    tasklet.write(wram, 8, 1);
  });
  for (unsigned dpu = 0; dpu < 5; ++dpu) {
    std::uint64_t value = 0;
    set.copy_from(dpu, 8, &value, 8);
    EXPECT_EQ(value, 100 + dpu);
  }
}

TEST(PimCopyIn, MovesRaggedSizesOfAnyLength) {
  for (const std::size_t count : {1u, 3u, 511u, 512u, 513u, 5000u}) {
    DpuSet set(one_dpu());
    std::vector<std::int32_t> values(count + 1, -1);
    std::iota(values.begin(), values.end() - 1, 1);
    set.copy_to(0, 0, values.data(), round_up_to_granule(count * 4));
    set.launch([count](Tasklet& tasklet) {
      auto* wram = tasklet.wram<std::int32_t>(count);
      tasklet.copy_in(0, wram, count);
      tasklet.copy_out(wram, 65536, count);
    });
    std::vector<std::int32_t> copied(count + 1);
    set.copy_from(0, 65536, copied.data(), round_up_to_granule(count * 4));
    copied.resize(count);
    values.resize(count);
    EXPECT_EQ(copied, values) << count;
  }
}

TEST(PimWramBuffer, LoadsRangesWhereverTheyBegin) {
  DpuSet set(one_dpu());
  std::vector<std::uint16_t> values(4096);
  std::iota(values.begin(), values.end(), std::uint16_t{0});
  set.copy_to(0, 0, values.data(), values.size() * 2);
  set.launch([](Tasklet& tasklet) {
    auto buffer = tasklet.buffer<std::uint16_t>(1500);
    for (const std::size_t first : {0u, 1u, 2u, 3u, 5u, 2595u}) {
      for (const std::size_t count : {0u, 1u, 2u, 7u, 1023u, 1500u}) {
        const std::uint16_t* elements = buffer.load(static_cast<MramAddress>(first * 2), count);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(elements[i], first + i) << first << " " << count;
      }
    }
  });
}

TEST(PimWramBuffer, StoresExactlyTheRangeAndNothingBesideIt) {
  std::mt19937 random(7);
  DpuSet set(one_dpu());
  std::vector<std::uint8_t> expected(8192);
  for (auto& byte : expected) byte = static_cast<std::uint8_t>(random());
  set.copy_to(0, 0, expected.data(), expected.size());
  set.launch([&](Tasklet& tasklet) {
    auto buffer = tasklet.buffer<std::uint8_t>(3000);
    for (int round = 0; round < 200; ++round) {
      const std::size_t count = random() % (round % 2 == 0 ? 20 : 3001);
      const std::size_t first = random() % (expected.size() - count);
      std::uint8_t* elements = buffer.place(static_cast<MramAddress>(first), count);
      for (std::size_t i = 0; i < count; ++i)
        elements[i] = expected[first + i] = static_cast<std::uint8_t>(random());
      buffer.store(static_cast<MramAddress>(first), count);
    }
  });
  std::vector<std::uint8_t> stored(expected.size());
  set.copy_from(0, 0, stored.data(), stored.size());
  EXPECT_EQ(stored, expected);
}

TEST(PimWramBuffer, RefusesMoreThanItsCapacity) {
  DpuSet set(one_dpu());
  EXPECT_THROW(set.launch([](Tasklet& tasklet) { tasklet.buffer<float>(4).load(0, 5); }), WramError);
  EXPECT_THROW(set.launch([](Tasklet& tasklet) { tasklet.buffer<float>(4).place(0, 5); }), WramError);
  EXPECT_THROW(set.launch([](Tasklet& tasklet) { tasklet.buffer<float>(4).store(0, 5); }), WramError);
}

TEST(PimWramBuffer, RefusesACapacityThatWrapsAround) {
  DpuSet set(one_dpu());
  EXPECT_THROW(set.launch([](Tasklet& tasklet) { tasklet.buffer<double>(std::size_t{1} << 61); }), WramError);
}

TEST(PimWramBuffer, SaysWhatWasAskedForWhereItDoesNotFit) {
  DpuSet set(one_dpu(16));
  try {
    set.launch([](Tasklet& tasklet) { tasklet.buffer<float>(1024); });
    FAIL() << "should have thrown";
  } catch (const WramError& error) {
    expect_names(error.what(), {"dpu 0", "tasklet 15", "a buffer of 1024 elements of 4 bytes",
                                "(4112 bytes with alignment) does not fit"});
  }
}

TEST(PimWramBuffer, RefusesRangesBeyondThePartOfTheBank) {
  DpuSet set(one_dpu());
  const auto message_of = [&](auto&& access) {
    try {
      set.launch([&](Tasklet& tasklet) {
        auto buffer = tasklet.buffer<float>(8);
        access(buffer, Mram<float>(64, {10}, 0, 10));
      });
    } catch (const ProgramError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message_of([](auto& buffer, auto part) { buffer.load(part, 2, 8); }), "");
  EXPECT_EQ(message_of([](auto& buffer, auto part) { buffer.load(part, 10, 0); }), "");
  expect_names(message_of([](auto& buffer, auto part) { buffer.load(part, 8, 3); }),
               {"dpu 0", "tasklet 0", "a load of 3 elements from element 8 on", "the 10 elements"});
  expect_names(message_of([](auto& buffer, auto part) { buffer.store(part, 9, 2); }), {"a store of 2"});
  expect_names(message_of([](auto& buffer, auto part) { buffer.place(part, 11, 0); }), {"a place of 0"});
  const std::size_t most = static_cast<std::size_t>(-1);
  expect_names(message_of([&](auto& buffer, auto part) { buffer.load(part, 1, most); }), {"a load of"});
}

TEST(PimWramBuffer, LetsTaskletsWriteRowsThatShareGranules) {
  constexpr std::size_t kRows = 37,
                        kColumns = 3;  // rows of 12 bytes: every other one begins inside a granule
  DpuSet set(one_dpu(11));
  set.launch([](Tasklet& tasklet) {
    const Mram<std::int32_t, 2> part(0, {kRows, kColumns}, 0, kRows);
    auto buffer = tasklet.buffer<std::int32_t>(kColumns);
    for_each_row(tasklet, part.rows(), [&](std::size_t row) {
      std::int32_t* elements = buffer.place(part.row_address(row), kColumns);
      for (std::size_t c = 0; c < kColumns; ++c) elements[c] = static_cast<std::int32_t>(row * 10 + c);
      buffer.store(part.row_address(row), kColumns);
    });
  });
  std::vector<std::int32_t> stored(kRows * kColumns + 1);
  set.copy_from(0, 0, stored.data(), round_up_to_granule(kRows * kColumns * 4));
  for (std::size_t i = 0; i < kRows * kColumns; ++i)
    EXPECT_EQ(stored[i], static_cast<std::int32_t>(i / kColumns * 10 + i % kColumns));
}

TEST(PimBlocks, CoverEveryElementOnce) {
  for (const unsigned tasklets : {1u, 7u, 16u, 24u}) {
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 10000u}) {
      DpuSet set(one_dpu(tasklets));
      std::vector<int> visits(count);
      set.launch([&](Tasklet& tasklet) {
        for_each_block(tasklet, count, 64, [&](std::size_t first, std::size_t length) {
          ASSERT_LE(length, 64u);
          for (std::size_t i = first; i < first + length; ++i) ++visits.at(i);
        });
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1));
    }
  }
}

}  // namespace
}  // namespace hocket::dpu
