// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.hpp"

#include <gtest/gtest.h>

#include <hocket/error.hpp>
#include <limits>

namespace hocket::cost {
namespace {

TEST(Roofline, TakesTheSlowerOfComputingAndMoving) {
  EXPECT_DOUBLE_EQ(roofline_seconds(1e9, 1e6, 1e9, 1e9).count, 1.0);
  EXPECT_DOUBLE_EQ(roofline_seconds(1e6, 3e9, 1e9, 1e9).count, 3.0);
}

TEST(Roofline, NeedsNoSpeedForWorkThatIsNotThere) {
  EXPECT_EQ(roofline_seconds(0.0, 0.0, 0.0, 0.0).count, 0.0);
  EXPECT_DOUBLE_EQ(roofline_seconds(0.0, 2e9, 0.0, 1e9).count, 2.0);
}

TEST(Roofline, RefusesWorkWithoutASpeed) {
  EXPECT_THROW(roofline_seconds(1.0, 0.0, 0.0, 1e9), InvalidArgument);
  EXPECT_THROW(roofline_seconds(0.0, 1.0, 1e9, 0.0), InvalidArgument);
}

TEST(Roofline, RefusesWorkThatIsNegativeOrNotFinite) {
  EXPECT_THROW(roofline_seconds(-1.0, 0.0, 1e9, 1e9), InvalidArgument);
  EXPECT_THROW(roofline_seconds(0.0, std::numeric_limits<double>::quiet_NaN(), 1e9, 1e9), InvalidArgument);
}

}  // namespace
}  // namespace hocket::cost
