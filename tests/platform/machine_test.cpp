// SPDX-License-Identifier: Apache-2.0
#include "platform/machine.hpp"

#include <gtest/gtest.h>

namespace hocket::platform {
namespace {

/// What is thrown as `InvalidArgument`, or nothing.
template <class Function>
std::string refusal(Function&& function) {
  try {
    function();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Machine, NumbersTheDevicesOfAKind) {
  const Machine machine("cpu:3", "", {});
  ASSERT_EQ(machine.devices().size(), 1U);
  EXPECT_EQ(machine.devices()[0].label, "cpu:0");
  EXPECT_EQ(machine.devices()[0].properties.concurrency, 3U);
  EXPECT_EQ(machine.devices()[0].memory_node, kHostNode);
  EXPECT_EQ(machine.nodes().size(), 1U);
}

TEST(Machine, HasNoDeviceWhereNoneIsAskedFor) {
  const Machine machine("none", "", {});
  EXPECT_TRUE(machine.devices().empty());
  EXPECT_EQ(machine.describe(), "none");
}

TEST(Machine, OpensNoEmulatedDeviceUnasked) {
  const Machine machine("", "", {});
  for (const DeviceInfo& device : machine.devices()) EXPECT_FALSE(device.properties.emulated) << device.label;
}

TEST(Machine, RefusesWhatItCannotUnderstandAndSaysWhatItCan) {
  EXPECT_NE(refusal([] { Machine("gpu", "", {}); }).find("unknown kind of device 'gpu'"), std::string::npos);
  EXPECT_NE(refusal([] { Machine("cpu:many", "", {}); }).find("cpu:many"), std::string::npos);
  EXPECT_NE(refusal([] { Machine("cpu:0", "", {}); }).find("1 to"), std::string::npos);
  EXPECT_NE(refusal([] { Machine("cpu,", "", {}); }), "");
  EXPECT_NE(refusal([] { Machine("cpu:2", "cpu=1GiB", {}); }).find("no device with memory of its own"),
            std::string::npos);
  EXPECT_NE(refusal([] { Machine("cpu:2", "disk=1GiB", {}); }), "");
  EXPECT_NE(refusal([] { Machine("cpu:2", "1GiB", {}); }).find("'='"), std::string::npos);
}

TEST(Machine, MatchesTaskOptionsByKindAndByNumber) {
  const Machine machine("cpu:2", "", {});
  EXPECT_EQ(machine.matching(""), ~std::uint64_t{0});
  EXPECT_EQ(machine.matching("cpu"), 1U);
  EXPECT_EQ(machine.matching("cpu:0"), 1U);
  EXPECT_NE(refusal([&] { machine.matching("cpu:1"); }).find("cpu:0"), std::string::npos);
  EXPECT_NE(refusal([&] { machine.matching("opencl"); }), "");
}

#if HOCKET_HAS_PIM
TEST(Machine, GivesEachDeviceWithMemoryANodeOfItsOwnAndLimitsIt) {
  const Machine machine("cpu:1,pim:4", "pim=1MiB", {});
  ASSERT_EQ(machine.nodes().size(), 2U);
  EXPECT_EQ(machine.node(MemoryNodeId{1}).label, "pim:0");
  EXPECT_EQ(machine.node(MemoryNodeId{1}).capacity, kMiB);
  EXPECT_EQ(machine.devices()[1].memory_node, MemoryNodeId{1});
  EXPECT_EQ(machine.matching("pim,cpu"), 3U);
}

TEST(Machine, TakesALimitForAKindThatIsNotHereToday) { EXPECT_NO_THROW(Machine("cpu:1", "pim=1MiB", {})); }
#endif

TEST(ParseBytes, ReadsPlainNumbersAndUnits) {
  EXPECT_EQ(parse_bytes("4096", "limit").count, 4096U);
  EXPECT_EQ(parse_bytes("256MiB", "limit").count, 256U << 20);
  EXPECT_EQ(parse_bytes(" 1.5 GB", "limit").count, 1'500'000'000U);
  EXPECT_EQ(parse_bytes("3kB", "limit").count, 3000U);
}

TEST(ParseBytes, RefusesWhatIsNoSizeAndNamesIt) {
  for (const char* text : {"", "MiB", "12 parsecs", "-5", "0", "nan", "inf", "1e30GiB", "5MiB extra"})
    EXPECT_NE(refusal([&] { parse_bytes(text, "limit of 'x'"); }).find("limit of 'x'"), std::string::npos)
        << text;
}

}  // namespace
}  // namespace hocket::platform
