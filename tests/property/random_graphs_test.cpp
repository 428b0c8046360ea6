// SPDX-License-Identifier: Apache-2.0
/// Random programs give, bit for bit, what sequential execution gives: on every mix of devices, under every policy, with
/// 1 to 8 workers, with tasks that fail among them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "property/random_program.hpp"

namespace hocket::property {
namespace {

struct Setting {
  const char* name;
  const char* devices;
  const char* policy;
  const char* memory;
  unsigned programs;
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

/// Sanitizers slow a program down many times over; they look for races and bad accesses, which need fewer programs.
unsigned scaled(unsigned programs) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return programs / 10;
#else
  return programs;
#endif
}

class RandomPrograms : public testing::TestWithParam<Setting> {};

TEST_P(RandomPrograms, GiveWhatSequentialExecutionGives) {
  const Setting& setting = GetParam();
  RuntimeOptions options;
  options.devices = setting.devices;
  options.policy = setting.policy;
  options.memory = setting.memory;
  const std::string devices = setting.devices;
#if !HOCKET_HAS_OPENCL
  if (devices.find("opencl") != std::string::npos) GTEST_SKIP() << "built without OpenCL";
#endif
#if !HOCKET_HAS_PIM
  if (devices.find("pim") != std::string::npos) GTEST_SKIP() << "built without the PIM device";
#endif
  Runtime runtime(options);
  const bool failures = devices.find("cpu") != std::string::npos;  // the failing kernel is a CPU kernel
  for (unsigned i = 0; i < scaled(setting.programs); ++i) {
    const std::uint64_t seed = std::hash<std::string>{}(setting.name) + i;
    const std::string difference = run_and_compare(runtime, random_program(seed, failures));
    ASSERT_EQ(difference, "") << "program " << i << " (seed " << seed << ") on " << setting.devices;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, RandomPrograms,
    testing::Values(Setting{"OneWorker", "cpu:1", "ws", "", 1500},
                    Setting{"TwoWorkers", "cpu:2", "ws", "", 1500},
                    Setting{"ThreeWorkersEager", "cpu:3", "eager", "", 1500},
                    Setting{"FourWorkersEarliestFinish", "cpu:4", "eft", "", 1500},
                    Setting{"EightWorkers", "cpu:8", "ws", "", 1500},
                    Setting{"PimAlone", "pim:5", "eager", "", 500},
                    Setting{"CpuAndPim", "cpu:2,pim:3", "eager", "", 1200},
                    Setting{"CpuAndPimStealing", "cpu:1,pim:16", "ws", "", 800},
                    Setting{"CpuAndPimWithLittleMemory", "cpu:1,pim:4", "eager", "pim=3kB", 400},
                    Setting{"OpenclAlone", "opencl", "eager", "", 150},
                    Setting{"CpuAndOpencl", "cpu:2,opencl", "ws", "", 200},
                    Setting{"CpuAndOpenclWithLittleMemory", "cpu:1,opencl", "eager", "opencl=3kB", 150},
                    Setting{"AllThree", "cpu:2,opencl,pim:7", "eager", "", 200},
                    Setting{"AllThreeEarliestFinish", "cpu:2,opencl,pim:7", "eft", "", 200}),
    [](const testing::TestParamInfo<Setting>& info) { return info.param.name; });

}  // namespace
}  // namespace hocket::property
