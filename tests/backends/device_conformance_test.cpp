// SPDX-License-Identifier: Apache-2.0
// What a program may rely on whichever device runs its tasks, through the public API alone: once for each
// kind of device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <thread>

#include "backends/device_kernels.hpp"
#include "support/watchdog.hpp"

namespace hocket::testing {
namespace {

struct Subject {
  const char* name;
  const char* devices;
  bool own_memory;
};
void PrintTo(const Subject& subject, std::ostream* stream) { *stream << subject.devices; }

class DeviceConformance : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (!has_device(kind())) GTEST_SKIP() << "no " << kind() << " device";
  }
  static std::string kind() {
    const std::string devices = GetParam().devices;
    return devices.substr(0, devices.find(':'));
  }
  static RuntimeOptions options() { return options_for(GetParam().devices); }

  static std::span<Word> span(Words& words) { return {words.data(), words.size()}; }
  /// Data of the runtime's own that hold `words`.
  static Data<Word> filled(Runtime& runtime, const Words& words) {
    const auto data = runtime.data<Word>({words.size()});
    auto view = runtime.write(data);
    std::copy(words.begin(), words.end(), view.begin());
    return data;
  }
  static Words contents(Runtime& runtime, const Data<Word>& data) {
    const auto view = runtime.read(data);
    return {view.begin(), view.end()};
  }

 private:
  Watchdog watchdog_;
};

TEST_P(DeviceConformance, ComputesWhatASequentialProgramDoes) {
  Runtime runtime(options());
  constexpr std::size_t kArrays = 6;
  std::mt19937 random(1);
  for (const std::size_t size : {std::size_t{1}, std::size_t{77}, std::size_t{1000}}) {
    std::vector<Words> expected;
    std::vector<Words> memory;
    std::vector<Data<Word>> data;
    for (std::size_t i = 0; i < kArrays; ++i) expected.push_back(numbers(size, static_cast<Word>(i)));
    memory = expected;
    for (Words& words : memory) data.push_back(runtime.data(span(words)));
    for (Word step = 0; step < 100; ++step) {
      const std::size_t from = random() % kArrays;
      const std::size_t to = (from + 1 + random() % (kArrays - 1)) % kArrays;
      runtime.submit(advance(), step, data[from], data[to]);
      advance_plainly(step, expected[from], expected[to]);
    }
    data.clear();  // brings the results back to the program's memory
    EXPECT_EQ(memory, expected) << size << " elements";
  }
}

TEST_P(DeviceConformance, RunsEveryTaskOnTheDevice) {
  Runtime runtime(options());
  Words words = numbers(100, 1);
  const auto x = runtime.data(span(words));
  const auto y = filled(runtime, Words(100, 0));
  for (int i = 0; i < 20; ++i) runtime.submit(accumulate(), 1u, x, y);
  runtime.wait();
  std::uint64_t tasks = 0;
  for (const DeviceReport& device : runtime.report().devices) {
    EXPECT_EQ(device.kind, kind());
    tasks += device.tasks;
  }
  EXPECT_EQ(tasks, 20u);
}

TEST_P(DeviceConformance, ComputesInFloatingPoint) {
  Runtime runtime(options());
  std::vector<float> memory(333);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 0.5f * static_cast<float>(i) - 40.0f;
  const auto x = runtime.data(std::span<const float>(memory));
  const auto y = runtime.data<float>({memory.size()});
  const auto z = runtime.data<float>({memory.size()});
  runtime.submit(scale(), 3.0f, x, y);
  runtime.submit(scale(), -0.25f, y, z);
  const auto view = runtime.read(z);
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(view[i], -0.75f * memory[i]) << i;
}

TEST_P(DeviceConformance, KeepsTilesAndTheWholeCoherent) {
  Runtime runtime(options());
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kColumns = 23;
  Words expected = numbers(kRows * kColumns, 5);
  Words memory = expected;
  std::mt19937 random(2);
  {
    const auto whole = runtime.data(memory.data(), {kRows, kColumns});
    const auto tiles = whole.tiles(10, 8);
    const auto bands = whole.tiles(16, kColumns);
    for (Word step = 0; step < 80; ++step) {
      std::array<std::size_t, 2> offset{0, 0};
      Data<Word, 2> part = whole;
      switch (random() % 5) {
        case 0:
          break;
        case 1:
        case 2: {
          const std::size_t i = random() % tiles.count(0);
          const std::size_t j = random() % tiles.count(1);
          part = tiles(i, j);
          offset = {10 * i, 8 * j};
          break;
        }
        case 3: {
          const std::size_t i = random() % bands.count(0);
          part = bands(i, 0);
          offset = {16 * i, 0};
          break;
        }
        default:
          offset = {random() % 20, random() % 12};
          part = whole.block(offset, {1 + random() % 17, 1 + random() % 11});
      }
      runtime.submit(stir(), step, part);
      stir_plainly(step, expected, kColumns, offset, {part.extent(0), part.extent(1)});
      if (step % 20 == 19) {
        const auto view = runtime.read(whole);
        for (std::size_t i = 0; i < kRows; ++i)
          for (std::size_t j = 0; j < kColumns; ++j)
            ASSERT_EQ(view(i, j), expected[i * kColumns + j]) << i << ", " << j << " after step " << step;
      }
    }
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DeviceConformance, LetsTheProgramReadAndWriteBetweenTasks) {
  Runtime runtime(options());
  constexpr std::size_t kSize = 150;
  Words x = numbers(kSize, 1);
  Words expected(kSize, 0);
  const auto x_data = runtime.data(span(x));
  const auto y = filled(runtime, expected);
  for (Word step = 0; step < 30; ++step) {
    runtime.submit(advance(), step, x_data, y);
    advance_plainly(step, x, expected);
    if (step % 3 == 0) {
      auto view = runtime.write(y);
      view[step] += 1000;
      expected[step] += 1000;
    }
    if (step % 3 == 1) {
      const auto part = y.block({10}, {50});
      auto view = runtime.write(part);
      view[7] = step;
      expected[17] = step;
    }
    if (step % 3 == 2) {
      ASSERT_EQ(contents(runtime, y), expected) << "step " << step;
    }
  }
  EXPECT_EQ(contents(runtime, y), expected);
}

TEST_P(DeviceConformance, MovesWhatSeveralTasksReadOnce) {
  Runtime runtime(options());
  constexpr std::size_t kSize = 256;
  constexpr std::size_t kTasks = 30;
  std::vector<float> memory(kSize, 2.0f);
  const auto x = runtime.data(std::span<const float>(memory));
  std::vector<Data<float>> results;
  for (std::size_t i = 0; i < kTasks; ++i) {
    results.push_back(runtime.data<float>({kSize}));
    runtime.submit(scale(), static_cast<float>(i), x, results.back());
  }
  runtime.wait();
  std::uint64_t moved = 0;
  for (const LinkReport& link : runtime.report().links)
    if (link.from == "host" && link.to != "host") moved += link.bytes.count;
  EXPECT_EQ(moved, GetParam().own_memory ? kSize * sizeof(float) : 0u);
  for (std::size_t i = 0; i < kTasks; ++i) {
    const auto view = runtime.read(results[i]);
    EXPECT_TRUE(
        std::all_of(view.begin(), view.end(), [&](float v) { return v == 2.0f * static_cast<float>(i); }))
        << "task " << i;
  }
}

TEST_P(DeviceConformance, KeepsTheOrderOfManyTasksInFlight) {
  Runtime runtime(options());
  constexpr std::size_t kChains = 10;
  constexpr Word kLength = 60;
  Words x = numbers(64, 1);
  std::vector<Words> expected;
  std::vector<Words> memory;
  for (std::size_t i = 0; i < kChains; ++i) expected.push_back(numbers(64, static_cast<Word>(i)));
  memory = expected;
  {
    const auto x_data = runtime.data(span(x));
    std::vector<Data<Word>> data;
    for (Words& words : memory) data.push_back(runtime.data(span(words)));
    for (Word step = 0; step < kLength; ++step)
      for (std::size_t i = 0; i < kChains; ++i) {
        runtime.submit({.name = "link", .priority = static_cast<int>(i % 3)}, advance(), step, x_data,
                       data[i]);
        advance_plainly(step, x, expected[i]);
      }
    runtime.wait();
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DeviceConformance, RunsARecordedGraphAgain) {
  Runtime runtime(options());
  Words x = numbers(90, 1);
  Words expected = numbers(90, 2);
  Words memory = expected;
  {
    const auto x_data = runtime.data(span(x));
    const auto y = runtime.data(span(memory));
    const Graph graph = runtime.record([&](Graph& g) {
      for (Word step = 0; step < 10; ++step) g.submit(advance(), step, x_data, y);
    });
    for (int run = 0; run < 5; ++run) {
      runtime.run(graph);
      for (Word step = 0; step < 10; ++step) advance_plainly(step, x, expected);
    }
    runtime.wait();
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DeviceConformance, AFailingKernelFailsItsTaskAndItsDependantsOnly) {
  Runtime runtime(options());
  const Words x = numbers(80, 1);
  const auto x_data = filled(runtime, x);
  const auto spoilt_data = filled(runtime, numbers(80, 2));
  const auto also_spoilt_data = filled(runtime, numbers(80, 3));
  runtime.submit(advance(), 1u, x_data, spoilt_data);
  const Task failing = runtime.submit({.name = "the one that fails"}, fail(), spoilt_data);
  const Task dependant = runtime.submit({.name = "dependant"}, advance(), 1u, x_data, spoilt_data);
  const Task second =
      runtime.submit({.name = "dependant of the dependant"}, advance(), 1u, spoilt_data, also_spoilt_data);
  try {
    failing.get();
    ADD_FAILURE() << "the failure was not reported";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.failure(), TaskFailure::Failed);
    EXPECT_EQ(error.task(), "the one that fails");
    EXPECT_EQ(error.device().substr(0, error.device().find(':')), kind());
    EXPECT_NE(error.cause(), nullptr);
  }
  EXPECT_THROW(dependant.get(), TaskError);
  EXPECT_THROW(second.get(), TaskError);
  EXPECT_EQ(failing.state(), TaskState::Failed);
  EXPECT_EQ(dependant.state(), TaskState::Cancelled);
  EXPECT_EQ(second.state(), TaskState::Cancelled);
  EXPECT_THROW(runtime.read(spoilt_data), TaskError);

  EXPECT_THROW(runtime.read(also_spoilt_data), TaskError);

  // Work that does not depend on it is as good as ever.
  Words expected = numbers(80, 4);
  const auto other_data = filled(runtime, expected);
  for (Word step = 0; step < 10; ++step) {
    runtime.submit(advance(), step, x_data, other_data);
    advance_plainly(step, x, expected);
  }
  EXPECT_EQ(contents(runtime, other_data), expected);
}

TEST_P(DeviceConformance, ConvertsOnTheWayToAndFromTheDevice) {
  Runtime runtime(options());
  std::vector<float> memory(130);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 1.0f + static_cast<float>(i) / 1000.0f;
  const auto x = runtime.data(std::span<const float>(memory), {.name = "x", .permit_lossy = true});
  const auto y = runtime.data<float>({memory.size()}, {.name = "y", .permit_lossy = true});
  runtime.submit(twice_in_bf16(), x, y);
  {
    const auto view = runtime.read(y);
    for (std::size_t i = 0; i < memory.size(); ++i)
      ASSERT_EQ(view[i], 2.0f * static_cast<float>(bf16(memory[i]))) << i;
  }
  // A kernel in full precision gets the exact values, not those that went through bf16.
  runtime.submit(scale(), 2.0f, x, y);
  const auto view = runtime.read(y);
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(view[i], 2.0f * memory[i]) << i;
}

TEST_P(DeviceConformance, RefusesToLosePrecisionUnlessTheDataPermitIt) {
  Runtime runtime(options());
  std::vector<float> memory(16, 1.0f);
  const auto x = runtime.data(std::span<const float>(memory), {.name = "x"});
  const auto y = runtime.data<float>({memory.size()}, {.name = "y", .permit_lossy = true});
  EXPECT_THROW(runtime.submit(twice_in_bf16(), x, y), NoEligibleDevice);
}

TEST_P(DeviceConformance, WorksOnMoreDataThanItsMemoryHolds) {
  if (!GetParam().own_memory) GTEST_SKIP() << "the device computes in host memory";
  RuntimeOptions limited = options();
  limited.memory = kind() + "=40KiB";
  limited.trace = true;
  Runtime runtime(limited);
  constexpr std::size_t kArrays = 20;
  constexpr std::size_t kSize = 2048;  // 8 KiB each: five fit
  std::mt19937 random(3);
  std::vector<Words> expected;
  std::vector<Words> memory;
  for (std::size_t i = 0; i < kArrays; ++i) expected.push_back(numbers(kSize, static_cast<Word>(i)));
  memory = expected;
  {
    std::vector<Data<Word>> data;
    for (Words& words : memory) data.push_back(runtime.data(span(words)));
    for (Word step = 0; step < 150; ++step) {
      const std::size_t from = random() % kArrays;
      const std::size_t to = (from + 1 + random() % (kArrays - 1)) % kArrays;
      runtime.submit(advance(), step, data[from], data[to]);
      advance_plainly(step, expected[from], expected[to]);
    }
    runtime.wait();
    const std::vector<TransferEvent> transfers = runtime.report().transfer_events;
    EXPECT_TRUE(std::any_of(transfers.begin(), transfers.end(), [](const TransferEvent& transfer) {
      return transfer.reason == TransferReason::Eviction;
    })) << "nothing was evicted";
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DeviceConformance, SaysThatATaskAloneDoesNotFit) {
  if (!GetParam().own_memory) GTEST_SKIP() << "the device computes in host memory";
  RuntimeOptions limited = options();
  limited.memory = kind() + "=4KiB";
  Runtime runtime(limited);
  const auto x = runtime.data<float>({4096});
  const auto y = runtime.data<float>({4096});
  {
    auto first = runtime.write(x);
    std::fill(first.begin(), first.end(), 1.0f);
  }
  try {
    runtime.submit(scale(), 1.0f, x, y);
    ADD_FAILURE() << "accepted";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find(kind()), std::string::npos) << error.what();
  }
}

TEST_P(DeviceConformance, FinishesWhatIsQueuedWhenTheRuntimeEnds) {
  Words x = numbers(500, 1);
  Words expected = numbers(500, 2);
  Words memory = expected;
  for (Word step = 0; step < 150; ++step) advance_plainly(step, x, expected);
  {
    Data<Word> kept;  // outlives the runtime
    Runtime runtime(options());
    const auto x_data = runtime.data(span(x));
    const auto y = runtime.data(span(memory));
    kept = y;
    for (Word step = 0; step < 150; ++step) runtime.submit(advance(), step, x_data, y);
  }
  EXPECT_EQ(memory, expected);
}

TEST_P(DeviceConformance, StaysUsableAfterACancellationAndEndsWithAnother) {
  Runtime runtime(options());
  const Words x = numbers(500, 1);
  Words expected = numbers(500, 3);
  const auto x_data = filled(runtime, x);
  const auto chain = filled(runtime, numbers(500, 2));
  const auto y = filled(runtime, expected);
  std::vector<Task> tasks;
  for (Word step = 0; step < 150; ++step) tasks.push_back(runtime.submit(advance(), step, x_data, chain));
  runtime.cancel();
  runtime.submit(advance(), 9u, x_data, y).get();
  advance_plainly(9, x, expected);
  EXPECT_EQ(contents(runtime, y), expected);
  bool withdrawn = false;
  for (const Task& task : tasks) {
    try {
      task.get();
      EXPECT_FALSE(withdrawn) << "a task ran after one that it depends on had been withdrawn";
    } catch (const TaskError& error) {
      EXPECT_EQ(error.failure(), TaskFailure::Cancelled);
      withdrawn = true;
    }
  }
  for (Word step = 0; step < 50; ++step) runtime.submit(accumulate(), step, x_data, y);
  runtime.cancel();
}

TEST_P(DeviceConformance, TakesTasksFromTwoThreads) {
  Runtime runtime(options());
  constexpr Word kSteps = 80;
  Words x = numbers(200, 1);
  Words shared(200, 0);
  std::array<Words, 2> own{numbers(200, 2), numbers(200, 3)};
  std::array<Words, 2> own_expected = own;
  Words shared_expected = shared;
  {
    const auto x_data = runtime.data(span(x));
    const auto shared_data = runtime.data(span(shared));
    const auto submit = [&](std::size_t thread) {
      const auto own_data = runtime.data(span(own[thread]));
      for (Word step = 0; step < kSteps; ++step) {
        runtime.submit(advance(), step, x_data, own_data);
        runtime.submit(accumulate(), step, x_data, shared_data);
        if (step % 25 == 24) contents(runtime, own_data);
      }
    };
    std::jthread first(submit, 0);
    std::jthread second(submit, 1);
    first.join();
    second.join();
  }
  for (std::size_t thread = 0; thread < 2; ++thread)
    for (Word step = 0; step < kSteps; ++step) {
      advance_plainly(step, x, own_expected[thread]);
      accumulate_plainly(step, x, shared_expected);
    }
  EXPECT_EQ(own, own_expected);
  EXPECT_EQ(shared, shared_expected);
}

INSTANTIATE_TEST_SUITE_P(On, DeviceConformance,
                         ::testing::Values(Subject{"Cpu", "cpu:2", false}, Subject{"Opencl", "opencl", true},
                                           Subject{"Pim", "pim:8", true}, Subject{"Toy", "toy", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace hocket::testing
