// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/program.hpp"

#ifdef HOCKET_QUICKSTART

namespace hocket {
namespace {

test::ProgramResult quickstart(const std::string& devices) {
  return test::run_program(HOCKET_QUICKSTART, {}, {.environment = {{"HOCKET_DEVICES", devices}}});
}

TEST(Quickstart, PrintsItsResultOnCpuCores) {
  const auto result = quickstart("cpu:2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "y[0] = 5, by cpu:0\n");
}

TEST(Quickstart, PrintsItsResultOnAnOpenclDevice) {
  const auto result = quickstart("opencl:0");
  if (result.err.find("no device for") != std::string::npos ||
      result.err.find("built without") != std::string::npos)
    GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "y[0] = 5, by opencl:0\n");
}

TEST(Quickstart, SaysWhyWhenNoDeviceCanRunIt) {
  const auto result = quickstart("none");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("fill"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace hocket

#endif
