// SPDX-License-Identifier: Apache-2.0
// What the OpenCL variant of a codelet checks and asks for without any OpenCL being there.
#include <gtest/gtest.h>

#include <array>
#include <hocket/opencl.hpp>
#include <string>

namespace hocket {
namespace {

using Saxpy = detail::ParameterList<float, View<const float>, View<float>>;

constexpr const char* kSource =
    "__kernel void saxpy_wide(float a, __global const float* x, ulong n, __global float* y, ulong m) {}";

std::string message_of_check(const opencl& recipe) {
  const auto parameters = Saxpy::parameters();
  try {
    recipe.build<Saxpy>()->check("saxpy", parameters);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

Argument view_argument(Access access, const Shape& shape) {
  Argument argument;
  argument.parameter.is_data = true;
  argument.parameter.access = access;
  argument.parameter.rank = shape.rank;
  argument.buffer.shape = shape;
  return argument;
}

TEST(OpenclVariant, AcceptsAKernelThatItsSourceHolds) {
  EXPECT_EQ(message_of_check(opencl(kSource, "saxpy_wide")), "");
  EXPECT_EQ(opencl(kSource, "saxpy_wide").build<Saxpy>()->device_kind(), "opencl");
}

TEST(OpenclVariant, NamesTheCodeletAndTheKernelThatItsSourceDoesNotHold) {
  const std::string message = message_of_check(opencl(kSource, "saxpy"));
  EXPECT_NE(message.find("'saxpy'"), std::string::npos) << message;
  EXPECT_NE(message.find("holds no kernel"), std::string::npos) << message;
}

TEST(OpenclVariant, RefusesAnEmptyNameAndAnEmptySource) {
  EXPECT_NE(message_of_check(opencl(kSource, "")).find("names no kernel"), std::string::npos);
  EXPECT_NE(message_of_check(opencl("", "saxpy")).find("has no source"), std::string::npos);
}

TEST(OpenclVariant, LeavesNamesThatThePreprocessorMakesToTheCompiler) {
  EXPECT_EQ(message_of_check(opencl("#define N(a, b) a##b\n__kernel void N(sax, py)() {}", "saxpy")), "");
  EXPECT_EQ(message_of_check(opencl("__kernel void NAME() {}", "saxpy", nullptr, "-DNAME=saxpy")), "");
}

TEST(OpenclVariant, TakesOnlyDataInAnotherFormat) {
  opencl good(kSource, "saxpy_wide");
  good.wants<bf16>(1);
  EXPECT_EQ(good.build<Saxpy>()->wanted_format(1)->element, element_type<bf16>());
  opencl scalar(kSource, "saxpy_wide");
  scalar.wants<float>(0);
  EXPECT_THROW(scalar.build<Saxpy>(), InvalidArgument);
  opencl banks(kSource, "saxpy_wide");
  banks.wants<float>(1, Layout::BankInterleaved);
  EXPECT_THROW(banks.build<Saxpy>(), InvalidArgument);
}

TEST(OpenclDefaultRange, CoversTheFirstWrittenViewWithItsLastDimensionFirst) {
  const std::array arguments{view_argument(Access::Read, {{7, 1, 1, 1}, 1}),
                             view_argument(Access::Write, {{20, 30, 1, 1}, 2}),
                             view_argument(Access::ReadWrite, {{5, 1, 1, 1}, 1})};
  const NdRange range = default_range(arguments);
  EXPECT_EQ(range.dimensions, 2u);
  EXPECT_EQ(range.global, (std::array<std::size_t, 3>{30, 20, 1}));
  EXPECT_EQ(range.local, (std::array<std::size_t, 3>{0, 0, 0}));
}

TEST(OpenclDefaultRange, FoldsTheTwoOutermostOfFourDimensions) {
  const std::array arguments{view_argument(Access::Write, {{2, 3, 5, 7}, 4})};
  const NdRange range = default_range(arguments);
  EXPECT_EQ(range.dimensions, 3u);
  EXPECT_EQ(range.global, (std::array<std::size_t, 3>{7, 5, 6}));
}

TEST(OpenclDefaultRange, FallsBackToWhatIsReadAndThenToOneItem) {
  const std::array only_read{Argument{}, view_argument(Access::Read, {{9, 1, 1, 1}, 1})};
  EXPECT_EQ(default_range(only_read).global[0], 9u);
  const std::array scalar_only{Argument{}};
  EXPECT_EQ(default_range(scalar_only).global[0], 1u);
}

}  // namespace
}  // namespace hocket
