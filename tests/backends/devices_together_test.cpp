// SPDX-License-Identifier: Apache-2.0
// Devices of several kinds at work on the same data in one program.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "backends/device_kernels.hpp"
#include "support/watchdog.hpp"

namespace hocket::testing {
namespace {

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all{"cpu", "opencl", "pim", "toy"};
  return all;
}

/// "cpu:1,pim:8,...": those of the kinds that there are; two toy devices.
std::string specification(const std::vector<std::string>& wanted) {
  std::string devices;
  for (const std::string& kind : wanted) {
    if (!has_device(kind)) continue;
    devices += devices.empty() ? "" : ",";
    devices += kind == "cpu" ? "cpu:1" : kind == "pim" ? "pim:8" : kind == "toy" ? "toy:2" : kind;
  }
  return devices;
}

class DevicePair : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  void SetUp() override {
    for (const std::string& kind : {first(), second()})
      if (!has_device(kind)) GTEST_SKIP() << "no " << kind << " device";
  }
  static std::string first() { return GetParam().first; }
  static std::string second() { return GetParam().second; }
  static std::string devices() { return first() == second() ? "toy:2" : specification({first(), second()}); }
  /// What the tasks of turn `step` are bound to.
  static std::string turn(Word step) {
    if (first() == second()) return step % 2 == 0 ? "toy:0" : "toy:1";
    return step % 2 == 0 ? first() : second();
  }

 private:
  Watchdog watchdog_;
};

TEST_P(DevicePair, PassesADatumToAndFroAHundredTimes) {
  Runtime runtime(options_for(devices()));
  Words x = numbers(300, 1);
  Words expected = numbers(300, 2);
  Words memory = expected;
  {
    const auto x_data = runtime.data(std::span(x));
    const auto y = runtime.data(std::span(memory));
    for (Word step = 0; step < 100; ++step) {
      TaskOptions options;
      options.on = turn(step);
      runtime.submit(options, advance(), step, x_data, y);
      advance_plainly(step, x, expected);
    }
    runtime.wait();
    for (const DeviceReport& device : runtime.report().devices)
      if (first() == second() || device.kind != "toy") {
        EXPECT_EQ(device.tasks, 50u) << device.name;
      }
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DevicePair, SharesAWholeWhoseTilesTheyWriteInTurn) {
  Runtime runtime(options_for(devices()));
  constexpr std::size_t kRows = 24;
  constexpr std::size_t kColumns = 18;
  Words expected = numbers(kRows * kColumns, 5);
  Words memory = expected;
  {
    const auto whole = runtime.data(memory.data(), {kRows, kColumns});
    const auto tiles = whole.tiles(7, 5);
    Word step = 0;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < tiles.count(0); ++i)
        for (std::size_t j = 0; j < tiles.count(1); ++j) {
          TaskOptions options;
          options.on = turn(step);
          runtime.submit(options, stir(), step, tiles(i, j));
          stir_plainly(step++, expected, kColumns, {7 * i, 5 * j},
                       {tiles(i, j).extent(0), tiles(i, j).extent(1)});
        }
      TaskOptions options;
      options.on = turn(static_cast<Word>(round));
      runtime.submit(options, stir(), step, whole);
      stir_plainly(step++, expected, kColumns, {0, 0}, {kRows, kColumns});
    }
  }
  EXPECT_EQ(memory, expected);
}

std::vector<std::pair<std::string, std::string>> pairs() {
  std::vector<std::pair<std::string, std::string>> all{{"toy", "toy"}};
  for (std::size_t i = 0; i < kinds().size(); ++i)
    for (std::size_t j = i + 1; j < kinds().size(); ++j) all.emplace_back(kinds()[i], kinds()[j]);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, DevicePair, ::testing::ValuesIn(pairs()),
                         [](const auto& info) { return info.param.first + "_" + info.param.second; });

class DevicesTogether : public ::testing::TestWithParam<std::string> {
  Watchdog watchdog_;
};

/// Random tasks, bound to a device or free, on random parts.
TEST_P(DevicesTogether, ComputeWhatASequentialProgramDoes) {
  RuntimeOptions options = options_for(specification(kinds()));
  options.policy = GetParam();
  // One matrix fits, and two tasks' tiles: eviction takes part.
  options.memory = "opencl=12KiB,pim=12KiB,toy=12KiB";
  Runtime runtime(options);
  std::vector<std::string> places{""};
  for (const DeviceInfo& device : runtime.devices()) places.push_back(device.label);
  constexpr std::size_t kRows = 40;
  constexpr std::size_t kColumns = 32;
  constexpr std::size_t kMatrices = 4;
  std::mt19937 random(7);
  std::vector<Words> expected;
  for (Word i = 0; i < kMatrices; ++i) expected.push_back(numbers(kRows * kColumns, i));
  std::vector<Words> memory = expected;
  {
    std::vector<Data<Word, 2>> data;
    std::vector<Tiles<Word, 2>> tiles;
    for (Words& words : memory) {
      data.push_back(runtime.data(words.data(), {kRows, kColumns}));
      tiles.push_back(data.back().tiles(16, 12));
    }
    for (Word step = 0; step < 250; ++step) {
      const std::size_t m = random() % kMatrices;
      Data<Word, 2> part = data[m];
      std::array<std::size_t, 2> offset{0, 0};
      if (random() % 4 != 0) {
        const std::size_t i = random() % tiles[m].count(0);
        const std::size_t j = random() % tiles[m].count(1);
        part = tiles[m](i, j);
        offset = {16 * i, 12 * j};
      }
      if (random() % 25 == 0) {
        auto view = runtime.write(part);
        view(0, 0) ^= step;
        expected[m][offset[0] * kColumns + offset[1]] ^= step;
      }
      TaskOptions where;
      where.on = places[random() % places.size()];
      where.priority = static_cast<int>(random() % 3);
      runtime.submit(where, stir(), step, part);
      stir_plainly(step, expected[m], kColumns, offset, {part.extent(0), part.extent(1)});
    }
  }
  EXPECT_EQ(memory, expected);
}

INSTANTIATE_TEST_SUITE_P(Under, DevicesTogether, ::testing::Values("eager", "ws", "eft"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hocket::testing
