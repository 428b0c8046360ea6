// SPDX-License-Identifier: Apache-2.0
// The parts of the OpenCL backend that need no device: plans of copies, launch sizes, argument checks,
// selections.
#if HOCKET_HAS_OPENCL

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "opencl/copy_plan.hpp"
#include "opencl/discovery.hpp"
#include "opencl/error.hpp"
#include "opencl/kernel_arguments.hpp"
#include "opencl/launch_sizes.hpp"

namespace hocket::opencl_backend {
namespace {

using Sizes = std::array<std::size_t, 3>;
using Kind = KernelParameter::Kind;

constexpr Format kInt{element_type<int>(), Layout::RowMajor};

Box box_of(std::array<std::size_t, 4> offset, std::array<std::size_t, 4> extent, std::uint8_t rank) {
  return {offset, {extent, rank}};
}

CopyRequest upload(const Shape& host, const Strides& strides, const Box& from, const Shape& device,
                   const Box& to) {
  return {
      CopyDirection::HostToDevice, {{nullptr, host, strides, kInt}, from}, {{nullptr, device, {}, kInt}, to}};
}

/// What an OpenCL driver would do for the plan.
void execute(const CopyPlan& plan, const std::byte* from, std::byte* to) {
  for (const CopyPlan::Command& command : plan.commands)
    for (std::size_t slice = 0; slice < plan.region[2]; ++slice)
      for (std::size_t row = 0; row < plan.region[1]; ++row)
        std::memcpy(to + command.to + slice * plan.to.slice_pitch + row * plan.to.row_pitch,
                    from + command.from + slice * plan.from.slice_pitch + row * plan.from.row_pitch,
                    plan.region[0]);
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- plans of copies
// -----------------------------------------------------------------------------------------

TEST(OpenclCopyPlan, IsOnePlainCopyWhereBothEndsAreContiguous) {
  const Shape shape{{3, 4, 5, 6}, 4};
  const Box whole = box_of({}, {3, 4, 5, 6}, 4);
  const CopyPlan plan = plan_copy(upload(shape, dense_strides(shape), whole, shape, whole));
  EXPECT_TRUE(plan.contiguous());
  ASSERT_EQ(plan.commands.size(), 1u);
  EXPECT_EQ(plan.region[0], 3u * 4 * 5 * 6 * sizeof(int));
}

TEST(OpenclCopyPlan, IsOneRectangleForATileOfAMatrix) {
  const Shape matrix{{100, 100, 1, 1}, 2};
  const Shape tile{{10, 20, 1, 1}, 2};
  const CopyPlan plan =
      plan_copy(upload(matrix, dense_strides(matrix), box_of({30, 40, 0, 0}, tile.extent, 2), tile,
                       box_of({}, tile.extent, 2)));
  ASSERT_EQ(plan.commands.size(), 1u);
  EXPECT_EQ(plan.region, (Sizes{80, 10, 1}));
  EXPECT_EQ(plan.from.row_pitch, 400u);
  EXPECT_EQ(plan.to.row_pitch, 80u);
  EXPECT_EQ(plan.commands[0].from, (30u * 100 + 40) * 4);
  EXPECT_EQ(region_origin(plan.commands[0].from, plan.from), (Sizes{160, 30, 0}));
}

TEST(OpenclCopyPlan, LoopsOverTheOutermostOfFourStridedDimensions) {
  const Shape outer{{5, 6, 7, 8}, 4};
  const Shape inner{{2, 3, 4, 5}, 4};
  const CopyPlan plan = plan_copy(upload(outer, dense_strides(outer), box_of({1, 1, 1, 1}, inner.extent, 4),
                                         inner, box_of({}, inner.extent, 4)));
  EXPECT_EQ(plan.commands.size(), 2u);
  EXPECT_EQ(plan.region, (Sizes{20, 4, 3}));
}

TEST(OpenclCopyPlan, IsEmptyForAnEmptyBox) {
  const Shape shape{{4, 4, 1, 1}, 2};
  const Box none = box_of({}, {0, 4, 1, 1}, 2);
  EXPECT_TRUE(plan_copy(upload(shape, dense_strides(shape), none, shape, none)).commands.empty());
}

TEST(OpenclCopyPlan, CopiesWhatAnElementwiseLoopCopies) {
  std::mt19937 random(7);
  const auto number = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    const auto rank = static_cast<std::uint8_t>(number(1, 4));
    Shape host;
    Shape device;
    host.rank = device.rank = rank;
    Box from;
    Box to;
    from.shape.rank = to.shape.rank = rank;
    for (std::size_t d = 0; d < rank; ++d) {
      host.extent[d] = number(1, 5);
      device.extent[d] = number(1, 5);
      from.shape.extent[d] = to.shape.extent[d] = number(1, std::min(host.extent[d], device.extent[d]));
      from.offset[d] = number(0, host.extent[d] - from.shape.extent[d]);
      to.offset[d] = number(0, device.extent[d] - to.shape.extent[d]);
    }
    // Any strides that keep elements apart, multiples of each other or not, even in the last dimension.
    Strides strides{1, 1, 1, 1};
    std::size_t stride = number(1, 2);
    for (std::size_t d = rank; d-- > 0;) {
      strides[d] = stride;
      stride = stride * host.extent[d] + number(0, 2);
    }
    std::vector<int> source(stride);
    for (int& element : source) element = static_cast<int>(random());
    std::vector<int> expected(device.elements(), -1);
    std::vector<int> found = expected;
    const Strides dense = dense_strides(device);
    const auto& e = from.shape.extent;
    for (std::size_t i = 0; i < e[0]; ++i)
      for (std::size_t j = 0; j < e[1]; ++j)
        for (std::size_t k = 0; k < e[2]; ++k)
          for (std::size_t l = 0; l < e[3]; ++l) {
            const auto at = [&](const Box& box, const Strides& s) {
              return (box.offset[0] + i) * s[0] + (box.offset[1] + j) * s[1] + (box.offset[2] + k) * s[2] +
                     (box.offset[3] + l) * s[3];
            };
            expected[at(to, dense)] = source[at(from, strides)];
          }
    const CopyPlan plan = plan_copy(upload(host, strides, from, device, to));
    execute(plan, reinterpret_cast<const std::byte*>(source.data()),
            reinterpret_cast<std::byte*>(found.data()));
    ASSERT_EQ(found, expected) << to_string(from) << " to " << to_string(to);
    // What the OpenCL specification demands of pitches and origins.
    for (const CopyPlan::End& end : {plan.from, plan.to}) {
      if (plan.region[1] > 1) {
        ASSERT_GE(end.row_pitch, plan.region[0]);
      }
      if (plan.region[2] > 1) {
        ASSERT_GE(end.slice_pitch, plan.region[1] * end.row_pitch);
        ASSERT_EQ(end.slice_pitch % end.row_pitch, 0u);
      }
    }
    for (const CopyPlan::Command& command : plan.commands) {
      const Sizes origin = region_origin(command.to, plan.to);
      EXPECT_EQ(origin[0] + origin[1] * plan.to.row_pitch + origin[2] * plan.to.slice_pitch, command.to);
      EXPECT_TRUE(plan.to.row_pitch == 0 || origin[0] + plan.region[0] <= plan.to.row_pitch);
    }
  }
}

TEST(OpenclCopyPlan, RefusesBoxesThatDifferOrLeaveTheirBuffers) {
  const Shape shape{{4, 4, 1, 1}, 2};
  const Strides dense = dense_strides(shape);
  EXPECT_TRUE(mentions(
      message_of([&] {
        plan_copy(upload(shape, dense, box_of({}, {2, 2, 1, 1}, 2), shape, box_of({}, {2, 3, 1, 1}, 2)));
      }),
      "same shape"));
  EXPECT_TRUE(mentions(message_of([&] {
                         plan_copy(upload(shape, dense, box_of({3, 0, 0, 0}, {2, 2, 1, 1}, 2), shape,
                                          box_of({}, {2, 2, 1, 1}, 2)));
                       }),
                       "leaves its buffer"));
}

// ---- launch sizes
// --------------------------------------------------------------------------------------------

TEST(OpenclLaunchSizes, RoundTheGlobalSizesUpToTheLocalOnes) {
  const LaunchSizes sizes = launch_sizes({{100, 30, 1}, {16, 4, 1}, 2}, {256, {}, false}, "k");
  EXPECT_EQ(sizes.global, (Sizes{112, 32, 1}));
  EXPECT_FALSE(sizes.driver_chooses_local);
}

TEST(OpenclLaunchSizes, LeaveTheGroupToTheDriverOrChooseADivisorWhereGroupsAreCompiled) {
  EXPECT_TRUE(launch_sizes({{1000, 1, 1}, {}, 1}, {256, {}, false}, "k").driver_chooses_local);
  const LaunchSizes chosen = launch_sizes({{1000, 7, 1}, {}, 2}, {256, {}, true}, "k");
  EXPECT_EQ(chosen.local, (Sizes{50, 1, 1}));
  EXPECT_EQ(chosen.global, (Sizes{1000, 7, 1}));
  EXPECT_TRUE(launch_sizes({{1009, 1, 1}, {}, 1}, {256, {}, true}, "a prime").driver_chooses_local);
  EXPECT_EQ(launch_sizes({{1000, 1, 1}, {}, 1}, {20, {}, true}, "k").local[0], 20u);
}

TEST(OpenclLaunchSizes, UseTheGroupThatTheKernelRequires) {
  const LaunchSizes sizes = launch_sizes({{1001, 1, 1}, {}, 1}, {256, {8, 1, 1}, false}, "k");
  EXPECT_EQ(sizes.local, (Sizes{8, 1, 1}));
  EXPECT_EQ(sizes.global[0], 1008u);
}

TEST(OpenclLaunchSizes, RefuseRangesThatNoLaunchCanHave) {
  const GroupLimits limits{64, {}, false};
  EXPECT_TRUE(mentions(message_of([&] { launch_sizes({{1, 1, 1}, {}, 4}, limits, "k"); }), "1 to 3"));
  EXPECT_TRUE(mentions(message_of([&] {
                         launch_sizes({{8, 8, 1}, {8, 0, 0}, 2}, limits, "k");
                       }),
                       "give all"));
  EXPECT_TRUE(mentions(message_of([&] {
                         launch_sizes({{99, 9, 1}, {16, 8, 1}, 2}, limits, "k");
                       }),
                       "at most 64"));
}

TEST(OpenclLaunchSizes, AreEmptyWhereAGlobalSizeIsZero) {
  EXPECT_TRUE(launch_sizes({{5, 0, 1}, {}, 2}, {64, {}, true}, "k").empty());
}

// ---- arguments
// -----------------------------------------------------------------------------------------------

std::vector<Argument> arguments_of(const std::vector<Parameter>& parameters) {
  std::vector<Argument> arguments;
  for (const Parameter& parameter : parameters) {
    arguments.push_back({parameter, nullptr, {}});
    arguments.back().buffer.format = {parameter.element, Layout::RowMajor};
  }
  return arguments;
}
KernelSignature signature_of(std::vector<KernelParameter> parameters) {
  const std::size_t count = parameters.size();
  return {count, std::move(parameters)};
}
const KernelParameter kFloat{Kind::Value, "float", "a"};
const KernelParameter kFloats{Kind::GlobalPointer, "float*", "x"};
const KernelParameter kExtent{Kind::Value, "ulong", "n"};

using FloatAndView = detail::ParameterList<float, View<const float>>;

std::string complaint(const KernelSignature& signature) {
  return message_of([&] { check_arguments("k", signature, arguments_of(FloatAndView::parameters())); });
}

TEST(OpenclArguments, FitAKernelForTheElementsThatTheDataAreConvertedTo) {
  std::vector<Argument> arguments = arguments_of(FloatAndView::parameters());
  arguments[1].buffer.format.element = element_type<bf16>();
  const KernelParameter halves{Kind::GlobalPointer, "ushort*", "x"};
  EXPECT_EQ(message_of([&] {
              check_arguments("k", signature_of({kFloat, halves, kExtent}), arguments);
            }),
            "");
  EXPECT_TRUE(mentions(message_of([&] {
                         check_arguments("k", signature_of({kFloat, kFloats, kExtent}), arguments);
                       }),
                       "bf16"));
}

TEST(OpenclArguments, FitAKernelThatFollowsTheConvention) {
  EXPECT_EQ(complaint(signature_of({kFloat, kFloats, kExtent})), "");
  EXPECT_EQ(complaint(signature_of({{Kind::Value, "real", "a"}, kFloats, kExtent})), "")
      << "a typedef is not known";
  EXPECT_EQ(complaint(signature_of({kFloat, {Kind::GlobalPointer, "float4*", "x"}, kExtent})), "");
  EXPECT_EQ(complaint({3, {}}), "") << "the driver does not tell";
}

TEST(OpenclArguments, SayWhatAKernelWithAnotherNumberOfParametersShouldHave) {
  const std::string message = complaint(signature_of({kFloat, kFloats}));
  EXPECT_TRUE(mentions(message, "has 2 parameters, but its codelet passes 3")) << message;
  EXPECT_TRUE(mentions(message, "codelet parameter 1, a view of f32 of rank 1: `__global const float*`"))
      << message;
}

TEST(OpenclArguments, NameTheParameterWhoseTypeIsWrong) {
  const std::string scalar = complaint(signature_of({{Kind::Value, "double", "a"}, kFloats, kExtent}));
  EXPECT_TRUE(mentions(scalar, "parameter 0 of the codelet is a scalar f32")) << scalar;
  EXPECT_TRUE(mentions(scalar, "`double a`")) << scalar;
  const std::string pointer =
      complaint(signature_of({kFloat, {Kind::GlobalPointer, "double*", "x"}, kExtent}));
  EXPECT_TRUE(mentions(pointer, "parameter 1 of the codelet")) << pointer;
  EXPECT_TRUE(mentions(pointer, "its parameter 1 is `__global double* x`")) << pointer;
  const std::string extent = complaint(signature_of({kFloat, kFloats, {Kind::Value, "uint", "n"}}));
  EXPECT_TRUE(mentions(extent, "its parameter 2 is `uint n`")) << extent;
  EXPECT_TRUE(mentions(complaint(signature_of({kFloat, {Kind::LocalPointer, "float*", "x"}, kExtent})),
                       "`__local float* x`"));
}

TEST(OpenclArguments, KnowTheSizesOfBuiltInTypes) {
  EXPECT_EQ(type_bytes("ulong"), 8u);
  EXPECT_EQ(type_bytes("float3"), 16u);
  EXPECT_EQ(type_bytes("char16"), 16u);
  EXPECT_EQ(type_bytes("my_struct"), 0u);
  EXPECT_EQ(type_bytes("float*"), 0u);
}

// ---- selections and names
// ------------------------------------------------------------------------------------

TEST(OpenclSelection, IsAllOrANumberOrAType) {
  FoundDevice gpu;
  gpu.number = 2;
  gpu.type = CL_DEVICE_TYPE_GPU;
  EXPECT_TRUE(selects(parse_selection(""), gpu));
  EXPECT_TRUE(selects(parse_selection("2"), gpu));
  EXPECT_FALSE(selects(parse_selection("1"), gpu));
  EXPECT_TRUE(selects(parse_selection("gpu"), gpu));
  EXPECT_FALSE(selects(parse_selection("cpu"), gpu));
  EXPECT_FALSE(selects(parse_selection("accelerator"), gpu));
}

TEST(OpenclSelection, SaysWhatCanBeWritten) {
  for (const char* bad : {"fpga", "-1", "1x", "0,1", "99999999999999999999999", " ", "GPU"}) {
    const std::string message = message_of([bad] { parse_selection(bad); });
    EXPECT_TRUE(mentions(message, "opencl:gpu") && mentions(message, bad)) << bad << ": " << message;
  }
}

TEST(OpenclStatus, HasANameAndBecomesTheRightException) {
  EXPECT_EQ(status_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES (-5)");
  EXPECT_EQ(status_name(-4242), "OpenCL status -4242");
  EXPECT_NO_THROW(check_status(CL_SUCCESS, "nothing", "d"));
  EXPECT_THROW(check_status(CL_MEM_OBJECT_ALLOCATION_FAILURE, "allocating", "d"), OutOfMemory);
  EXPECT_THROW(check_status(CL_INVALID_VALUE, "copying", "d"), DeviceError);
}

}  // namespace
}  // namespace hocket::opencl_backend

#endif  // HOCKET_HAS_OPENCL
