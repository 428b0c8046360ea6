// SPDX-License-Identifier: Apache-2.0
// The API over devices with memory of their own: formats on the way, parts and the whole, small memories,
// messages.
#include <gtest/gtest.h>

#include <hocket/pim.hpp>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::holds;
using testing::message_of;
using testing::options_for;

bool has_devices(const std::string& specification) {
  try {
    return !Runtime(options_for(specification)).devices().empty();
  } catch (const InvalidArgument&) {
    return false;
  }
}

constexpr const char* kAddSource = R"(
__kernel void add(const int value, __global int* x, const ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) x[i] += value;
}
)";

void add_on_dpus(dpu::Tasklet& tasklet, int value, dpu::Mram<int> x) {
  auto block = tasklet.buffer<int>(64);
  dpu::for_each_block(tasklet, x.size(), 64, [&](std::size_t first, std::size_t count) {
    int* const elements = block.load(x, first, count);
    for (std::size_t i = 0; i < count; ++i) elements[i] += value;
    block.store(x, first, count);
  });
}

using Add = Codelet<void(int, View<int>)>;
void add_on_cpu(int value, View<int> x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += value;
}
Add add_everywhere() { return Add{"add", cpu(add_on_cpu), opencl{kAddSource, "add"}, pim(add_on_dpus)}; }
Add add_on_accelerators() { return Add{"add_there", opencl{kAddSource, "add"}, pim(add_on_dpus)}; }

/// The tests that hold for any device with memory of its own, by its specification.
class Accelerators : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_devices(GetParam())) GTEST_SKIP() << "no device for " << GetParam();
  }
  std::string device() const { return GetParam(); }
  std::string kind() const { return device().substr(0, device().find(':')); }

 private:
  testing::Watchdog watchdog_;
};

TEST_P(Accelerators, RunCodeletsThatHaveNoVariantForTheProcessor) {
  for (const std::string& devices : {device(), "cpu:1," + device()}) {
    Runtime runtime(options_for(devices));
    std::vector<int> memory(1000, 1);
    {
      auto data = runtime.data(std::span(memory));
      for (int i = 0; i < 5; ++i) runtime.submit(add_on_accelerators(), 2, data);
    }
    EXPECT_EQ(memory, std::vector<int>(1000, 11)) << devices;
  }
}

TEST_P(Accelerators, ComputeOnTilesWhileTheHostComputesOnTheWhole) {
  Runtime runtime(options_for("cpu:2," + device()));
  std::vector<int> memory(640, 0);
  std::vector<int> expected(640, 0);
  auto data = runtime.data(std::span(memory));
  const auto tiles = data.tiles(100);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t t = 0; t < tiles.size(); ++t)
      runtime.submit({.on = t % 2 == 0 ? kind() : "cpu"}, add_everywhere(), static_cast<int>(t), tiles(t));
    runtime.submit({.on = "cpu"}, cpu([](View<int> x) {
                     for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * x[i] + 1;
                   }),
                   data);
    runtime.submit({.on = kind()}, add_everywhere(), 100, data.block({50}, {500}));
    for (std::size_t i = 0; i < 640; ++i) {
      expected[i] = 2 * (expected[i] + static_cast<int>(i / 100)) + 1;
      if (i >= 50 && i < 550) expected[i] += 100;
    }
  }
  const auto view = runtime.read(data);
  for (std::size_t i = 0; i < 640; ++i) ASSERT_EQ(view[i], expected[i]) << i;
}

TEST_P(Accelerators, GiveTheRightResultsWhenTheirMemoryHoldsFewOfTheTiles) {
  RuntimeOptions options = options_for("cpu:1," + device());
  // Two tiles of 16 KiB fit at a time, the bookkeeping of banks included; the data have 32.
  options.memory = kind() + "=64KiB";
  Runtime runtime(options);
  constexpr std::size_t kTile = 4096;
  std::vector<int> memory(32 * kTile, 0);
  {
    auto data = runtime.data(std::span(memory));
    const auto tiles = data.tiles(kTile);
    for (int round = 0; round < 3; ++round)
      for (std::size_t t = 0; t < tiles.size(); ++t)
        runtime.submit({.on = (t + static_cast<std::size_t>(round)) % 4 == 3 ? "cpu" : kind()},
                       add_everywhere(), static_cast<int>(t), tiles(t));
  }
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(memory[i], 3 * static_cast<int>(i / kTile)) << i;
}

TEST_P(Accelerators, RefuseAnOperandThatIsTooBigAndSayTheSizes) {
  RuntimeOptions options = options_for(device());
  options.memory = kind() + "=64KiB";
  Runtime runtime(options);
  std::vector<int> memory(32768, 1);
  auto data = runtime.data(std::span(memory), {.name = "whale"});
  EXPECT_TRUE(holds(message_of<OutOfMemory>([&] { runtime.submit(add_on_accelerators(), 1, data); }),
                    {"add_there", "65536", "13", "bytes"}));
  runtime.submit(add_on_accelerators(), 1, data.tiles(1024)(3)).get();
  EXPECT_EQ(runtime.read(data)[3072], 2);
}

TEST_P(Accelerators, LeaveAnOperandThatIsTooBigToTheProcessor) {
  RuntimeOptions options = options_for("cpu:1," + device());
  options.memory = kind() + "=64KiB";
  Runtime runtime(options);
  std::vector<int> memory(32768, 1);
  auto data = runtime.data(std::span(memory));
  const Task task = runtime.submit(add_everywhere(), 1, data);
  EXPECT_EQ(runtime.read(data)[32767], 2);
  const Explanation why = runtime.why(task);
  EXPECT_EQ(why.device, DeviceId{0});
}

TEST_P(Accelerators, KeepRunningAfterAFailureOnTheHost) {
  Runtime runtime(options_for("cpu:1," + device()));
  auto data = runtime.data<int>({64});
  runtime.submit(testing::set_to(), 1, data);
  runtime.submit(testing::broken(), data);
  const Task cancelled = runtime.submit({.on = kind()}, add_everywhere(), 1, data);
  EXPECT_THROW(cancelled.get(), TaskError);
  EXPECT_EQ(cancelled.state(), TaskState::Cancelled);
  runtime.submit(testing::set_to(), 1, data);
  runtime.submit({.on = kind()}, add_everywhere(), 1, data);
  EXPECT_EQ(runtime.read(data)[63], 2);
}

TEST_P(Accelerators, RunGraphsAgainAndWithAPlan) {
  Runtime runtime(options_for("cpu:1," + device()));
  std::vector<int> memory(512, 0);
  auto data = runtime.data(std::span(memory));
  const Graph graph = runtime.record([&](Graph& g) {
    for (const auto& tile : data.tiles(128)) {
      g.submit({.on = kind()}, add_everywhere(), 1, tile);
      g.submit(add_everywhere(), 2, tile);
    }
    g.submit({.on = "cpu"}, add_everywhere(), 3, data);
  });
  const Plan plan = runtime.plan(graph, "heft");
  for (int i = 0; i < 5; ++i) {
    runtime.run(graph);
    runtime.run(graph, plan);
  }
  const auto view = runtime.read(data);
  for (const int value : view) ASSERT_EQ(value, 60);
}

TEST_P(Accelerators, LetATaskWaitForAChildThere) {
  Runtime runtime(options_for("cpu:1," + device()));
  std::mutex lock;
  std::vector<int> memory(64, 0);
  auto data = runtime.data(std::span(memory));
  int seen = 0;
  // The parent holds a lock that a stranger wants, and waits for a task here that needs what a task there
  // makes.
  runtime
      .submit(cpu([&] {
        const std::lock_guard guard(lock);
        for (int i = 0; i < 3; ++i) runtime.submit(cpu([&] { const std::lock_guard inner(lock); }));
        runtime.submit({.on = kind()}, add_everywhere(), 5, data);
        runtime.submit({.on = "cpu"}, add_everywhere(), 6, data).get();
        seen = runtime.read(data)[63];
      }))
      .get();
  EXPECT_EQ(seen, 11);
}

TEST_P(Accelerators, ReportWhatMovedAndWhere) {
  RuntimeOptions options = options_for("cpu:1," + device());
  options.trace = true;
  Runtime runtime(options);
  std::vector<int> memory(256, 0);
  auto data = runtime.data(std::span(memory), {.name = "cargo"});
  runtime.submit({.on = kind()}, add_everywhere(), 1, data).get();
  EXPECT_EQ(runtime.read(data)[0], 1);
  const Report report = runtime.report();
  EXPECT_GE(report.bytes_moved, Bytes{2048});
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[1].tasks, 1u);
  EXPECT_EQ(report.devices[0].tasks, 0u);
  ASSERT_GE(report.transfer_events.size(), 2u);
  EXPECT_EQ(report.transfer_events.front().data, "cargo");
  EXPECT_EQ(report.transfer_events.front().from, "host");
  EXPECT_EQ(report.transfer_events.front().to, kind() + ":0");
}

INSTANTIATE_TEST_SUITE_P(Of, Accelerators, ::testing::Values("opencl", "pim:4"),
                         [](const ::testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param).substr(0, std::string(info.param).find(':'));
                         });

// ---- OpenCL kernels
// -------------------------------------------------------------------------------------------------

class OpenclKernels : public testing::WatchedTest {
 protected:
  void SetUp() override {
    if (!has_devices("opencl")) GTEST_SKIP() << "no OpenCL device";
  }
};
using Update = Codelet<void(View<int>)>;

TEST_F(OpenclKernels, ThatDoNotCompileFailTheirTaskWithTheBuildLog) {
  Runtime runtime(options_for("cpu:1,opencl"));
  std::vector<int> memory(4, 0);
  auto data = runtime.data(std::span(memory));
  const Update bad{"bad_source",
                   opencl{"__kernel void k(__global int* x, ulong n) { x[0] = undeclared_name; }", "k"}};
  const std::string message = message_of<TaskError>([&] { runtime.submit(bad, data).get(); });
  EXPECT_TRUE(holds(message, {"bad_source", "opencl:0", "undeclared_name"}));
  runtime.submit(testing::set_to(), 3, data);
  EXPECT_EQ(runtime.read(data)[0], 3) << "the runtime is usable";
}

TEST_F(OpenclKernels, ThatTheSourceDoesNotHoldAreRefusedWhenTheCodeletIsBuilt) {
  EXPECT_TRUE(holds(message_of<InvalidArgument>([] {
                      Update("misnamed", opencl{kAddSource, "subtract"});
                    }),
                    {"misnamed", "subtract", "no kernel"}));
}

TEST_F(OpenclKernels, ThatOnlyAppearInACommentFailTheirTask) {
  Runtime runtime(options_for("opencl"));
  std::vector<int> memory(4, 0);
  auto data = runtime.data(std::span(memory));
  const Update hidden{"hidden",
                      opencl{"/* subtract */ __kernel void add(__global int* x, ulong n) {}", "subtract"}};
  const std::string message = message_of<TaskError>([&] { runtime.submit(hidden, data).get(); });
  EXPECT_TRUE(holds(message, {"hidden", "subtract"}));
  runtime.submit(add_on_accelerators(), 0,
                 data.tiles(4)(0));  // cancelled with the data; the end must not hang
}

TEST_F(OpenclKernels, GetAnotherElementTypeWhereTheDataPermitTheLoss) {
  Runtime runtime(options_for("cpu:1,opencl"));
  std::vector<float> memory(100, 1.00390625f);  // 1 + 2^-8 is 1 in bf16
  auto x = runtime.data(std::span(memory), {.permit_lossy = true});
  auto y = runtime.data<float>({100});
  const Codelet<void(View<const float>, Out<float>)> widen{"widen", opencl{R"(
__kernel void widen(__global const ushort* x, ulong n, __global float* y, ulong m) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = as_float((uint)x[i] << 16);
}
)",
                                                                           "widen"}
                                                                        .wants<bf16>(0)};
  runtime.submit(widen, x, y);
  const auto view = runtime.read(y);
  for (const float value : view) ASSERT_EQ(value, 1.0f);
  EXPECT_EQ(runtime.read(x)[0], 1.00390625f);
}

TEST_F(OpenclKernels, AreNotGivenDataThatDoesNotPermitTheLoss) {
  Runtime runtime(options_for("cpu:1,opencl"));
  std::vector<float> memory(100, 1.0f);
  auto x = runtime.data(std::span(memory), {.name = "precise"});
  const Codelet<void(View<float>)> rough{
      "rough", opencl{"__kernel void rough(__global ushort* x, ulong n) {}", "rough"}.wants<bf16>(0)};
  EXPECT_TRUE(holds(message_of<NoEligibleDevice>([&] { runtime.submit(rough, x); }),
                    {"rough", "precise", "permit_lossy", "opencl:0"}));
}

// ---- every subset of the kinds
// --------------------------------------------------------------------------------------

class DeviceSubsets : public ::testing::TestWithParam<int> {
 protected:
  static constexpr const char* kKinds[] = {"cpu", "opencl", "pim"};
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      if ((GetParam() >> i & 1) == 0) continue;
      if (!has_devices(kKinds[i])) GTEST_SKIP() << "no device of kind " << kKinds[i];
      devices_ += std::string(devices_.empty() ? "" : ",") + kKinds[i] + (i == 0 ? ":2" : i == 2 ? ":4" : "");
    }
    if (devices_.empty()) devices_ = "none";
  }
  bool has(int kind) const { return (GetParam() >> kind & 1) != 0; }

  std::string devices_;

 private:
  testing::Watchdog watchdog_;
};

TEST_P(DeviceSubsets, GiveTheRightResultOrNameTheCodeletAndTheDevices) {
  Runtime runtime(options_for(devices_));
  const std::vector<std::pair<Add, int>> codelets = {{Add{"on_cpu", cpu(add_on_cpu)}, 0b001},
                                                     {Add{"on_opencl", opencl{kAddSource, "add"}}, 0b010},
                                                     {Add{"on_pim", pim(add_on_dpus)}, 0b100},
                                                     {add_on_accelerators(), 0b110},
                                                     {add_everywhere(), 0b111}};
  for (const auto& entry : codelets) {
    const Add& codelet = entry.first;
    const int kinds = entry.second;
    std::vector<int> memory(300, 1);
    auto data = runtime.data(std::span(memory));
    if ((kinds & GetParam()) != 0) {
      for (int i = 0; i < 3; ++i) runtime.submit(codelet, 2, data);
      const auto view = runtime.read(data);
      for (const int value : view) ASSERT_EQ(value, 7) << codelet.name() << " on " << devices_;
      continue;
    }
    const std::string message = message_of<NoEligibleDevice>([&] { runtime.submit(codelet, 2, data); });
    EXPECT_TRUE(holds(message, {"'" + codelet.name() + "'"}));
    for (int i = 0; i < 3; ++i) {
      const std::string kind = kKinds[i];
      if (has(i)) {
        EXPECT_TRUE(holds(message, {kind + ":0"}));
      }
      if ((kinds >> i & 1) != 0) {
        EXPECT_TRUE(holds(message, {kind}));
      }
    }
    if (GetParam() == 0) {
      EXPECT_TRUE(holds(message, {"devices: none"}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceSubsets, ::testing::Range(0, 8),
                         [](const ::testing::TestParamInfo<int>& info) {
                           std::string name;
                           if ((info.param & 1) != 0) name += "Cpu";
                           if ((info.param & 2) != 0) name += "Opencl";
                           if ((info.param & 4) != 0) name += "Pim";
                           return name.empty() ? std::string("None") : name;
                         });

TEST(Devices, OfKindsThatWereNotBuiltInAreRefusedWithTheReason) {
  const testing::Watchdog watchdog;
  if (HOCKET_HAS_OPENCL && HOCKET_HAS_PIM) GTEST_SKIP() << "every kind is built in";
  const char* const missing = HOCKET_HAS_PIM ? "opencl" : "pim";
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { Runtime runtime(options_for(missing)); }),
                    {missing, "without"}));
}

}  // namespace
}  // namespace hocket
