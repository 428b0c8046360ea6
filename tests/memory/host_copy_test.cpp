// SPDX-License-Identifier: Apache-2.0
#include "memory/host_copy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace hocket::memory {
namespace {

Shape shape_of(std::initializer_list<std::size_t> extents) {
  Shape shape;
  shape.rank = static_cast<std::uint8_t>(extents.size());
  std::size_t d = 0;
  for (const std::size_t extent : extents) shape.extent[d++] = extent;
  return shape;
}

TEST(HostCopy, MovesABoxBetweenArraysOfDifferentStrides) {
  // For each rank: a dense source into the middle of a larger target.
  for (std::size_t rank = 1; rank <= kMaxRank; ++rank) {
    Shape shape;
    Shape outer;
    shape.rank = outer.rank = static_cast<std::uint8_t>(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      shape.extent[d] = d + 2;
      outer.extent[d] = d + 5;
    }
    std::vector<int> source(shape.elements());
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int>(i) + 1;
    std::vector<int> target(outer.elements(), 0);
    const Strides to = dense_strides(outer);
    std::size_t start = 0;
    for (std::size_t d = 0; d < rank; ++d) start += to[d];
    copy_elements(source.data(), dense_strides(shape), target.data() + start, to, shape, sizeof(int));
    std::vector<int> back(shape.elements(), 0);
    copy_elements(target.data() + start, to, back.data(), dense_strides(shape), shape, sizeof(int));
    EXPECT_EQ(back, source) << "rank " << rank;
    std::size_t written = 0;
    for (const int value : target) written += value != 0 ? 1 : 0;
    EXPECT_EQ(written, source.size()) << "wrote outside the box, rank " << rank;
  }
}

TEST(Conversions, AreMarkedLossyExactlyWhereValuesCanChange) {
  struct Case {
    ElementType from;
    ElementType to;
    bool lossy;
  };
  for (const Case& c : {Case{element_type<float>(), element_type<bf16>(), true},
                        Case{element_type<bf16>(), element_type<float>(), false},
                        Case{element_type<double>(), element_type<float>(), true},
                        Case{element_type<float>(), element_type<double>(), false}}) {
    const auto conversion = find_conversion(c.from, c.to);
    ASSERT_TRUE(conversion.has_value());
    EXPECT_EQ(conversion->lossy, c.lossy);
  }
  EXPECT_FALSE(find_conversion(element_type<int>(), element_type<float>()).has_value());
}

TEST(Conversions, RoundToTheNearestBrainFloatAndBackWithoutLoss) {
  const auto narrow = find_conversion(element_type<float>(), element_type<bf16>());
  const auto widen = find_conversion(element_type<bf16>(), element_type<float>());
  ASSERT_TRUE(narrow && widen);
  const std::vector<float> values{0.0F,     -0.0F,    1.0F,  1.00390625F, 1.01171875F, 3.1415927F,
                                  -65504.F, 1.0e-40F, 1e38F, 3.4e38F,     -2.5e-7F};
  const Shape shape = shape_of({values.size()});
  std::vector<bf16> narrowed(values.size());
  std::vector<float> widened(values.size());
  narrow->convert(values.data(), dense_strides(shape), narrowed.data(), dense_strides(shape), shape);
  widen->convert(narrowed.data(), dense_strides(shape), widened.data(), dense_strides(shape), shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(widened[i])) {
      EXPECT_GT(std::fabs(values[i]), 3.38e38F);  // beyond the largest brain float
      continue;
    }
    // 8 bits of significand: half a unit in the last place.
    EXPECT_LE(std::fabs(widened[i] - values[i]), std::fabs(values[i]) / 256.0F + 1e-40F) << values[i];
  }
  EXPECT_EQ(widened[3], 1.0F) << "halfway between two, the even one";
  EXPECT_EQ(widened[4], 1.015625F) << "halfway between two, the even one";
  // Once narrow, a value survives the round trip bit for bit.
  std::vector<bf16> again(values.size());
  narrow->convert(widened.data(), dense_strides(shape), again.data(), dense_strides(shape), shape);
  EXPECT_EQ(again, narrowed);
  const bf16 nan(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(static_cast<float>(nan)));
}

}  // namespace
}  // namespace hocket::memory
