// SPDX-License-Identifier: Apache-2.0
#include "memory/routes.hpp"

#include <gtest/gtest.h>

namespace hocket::memory {
namespace {

constexpr Format kFloatRows{element_type<float>(), Layout::RowMajor};
constexpr Format kBrainRows{element_type<bf16>(), Layout::RowMajor};

TEST(Routes, NeedNoHopFromAPlaceToItselfOnTheHost) {
  const platform::Machine machine("cpu:1", "", {});
  Routes routes(machine);
  const Route* route = routes.find({kHostNode, kFloatRows}, {kHostNode, kFloatRows});
  ASSERT_NE(route, nullptr);
  EXPECT_FALSE(route->lossy);
}

TEST(Routes, AreLossyOnlyWhereAConversionIs) {
  const platform::Machine machine("cpu:1", "", {});
  Routes routes(machine);
  const Route* down = routes.find({kHostNode, kFloatRows}, {kHostNode, kBrainRows});
  const Route* up = routes.find({kHostNode, kBrainRows}, {kHostNode, kFloatRows});
  ASSERT_TRUE(down != nullptr && up != nullptr);
  EXPECT_TRUE(down->lossy);
  EXPECT_FALSE(up->lossy);
  EXPECT_EQ(down->hops.size(), 1U);
}

TEST(Routes, DoNotExistBetweenTypesThatNothingConverts) {
  const platform::Machine machine("cpu:1", "", {});
  Routes routes(machine);
  EXPECT_EQ(routes.find({kHostNode, {element_type<int>(), Layout::RowMajor}}, {kHostNode, kFloatRows}),
            nullptr);
}

#if HOCKET_HAS_PIM
TEST(Routes, ConvertOnTheHostBeforeDealingOutToBanks) {
  const platform::Machine machine("pim:4", "", {});
  Routes routes(machine);
  const Place banks{MemoryNodeId{1}, {element_type<bf16>(), Layout::BankInterleaved}};
  const Route* route = routes.find({kHostNode, kFloatRows}, banks);
  ASSERT_NE(route, nullptr);
  ASSERT_EQ(route->hops.size(), 2U);
  EXPECT_TRUE(route->hops[0].conversion.has_value());
  EXPECT_EQ(route->hops[1].direction, CopyDirection::HostToDevice);
}

TEST(Routes, GoThroughTheHostFromOneBankLayoutToAnother) {
  const platform::Machine machine("pim:4", "", {});
  Routes routes(machine);
  const Place dealt{MemoryNodeId{1}, {element_type<float>(), Layout::BankInterleaved}};
  const Place copied{MemoryNodeId{1}, {element_type<float>(), Layout::BankReplicated}};
  const Route* route = routes.find(dealt, copied);
  ASSERT_NE(route, nullptr);
  ASSERT_EQ(route->hops.size(), 2U);
  EXPECT_EQ(route->hops[0].to.node, kHostNode);
}

TEST(Routes, DoNotLeadIntoPartialSums) {
  const platform::Machine machine("pim:4", "", {});
  Routes routes(machine);
  const Place sums{MemoryNodeId{1}, {element_type<float>(), Layout::BankPartialSum}};
  EXPECT_EQ(routes.find({kHostNode, kFloatRows}, sums), nullptr);
  EXPECT_NE(routes.find(sums, {kHostNode, kFloatRows}), nullptr);
}
#endif

#if HOCKET_HAS_OPENCL && HOCKET_HAS_PIM
TEST(Routes, LeadFromOneDeviceToAnotherThroughTheHost) {
  const platform::Machine machine("opencl,pim:4", "", {});
  Routes routes(machine);
  const Route* route = routes.find({MemoryNodeId{1}, kFloatRows},
                                   {MemoryNodeId{2}, {element_type<float>(), Layout::BankInterleaved}});
  ASSERT_NE(route, nullptr);
  ASSERT_EQ(route->hops.size(), 2U);
  EXPECT_EQ(route->hops[0].direction, CopyDirection::DeviceToHost);
  EXPECT_EQ(route->hops[1].direction, CopyDirection::HostToDevice);
  EXPECT_GT(route->estimate(Bytes{1 << 20}).count, route->estimate(Bytes{1 << 10}).count);
}
#endif

}  // namespace
}  // namespace hocket::memory
