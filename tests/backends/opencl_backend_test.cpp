// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend on whatever device the machine has (PoCL at least, where it is installed): the
// conformance suite, and what is particular to OpenCL.
#if HOCKET_HAS_OPENCL

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hocket/opencl.hpp>
#include <string>
#include <thread>
#include <vector>

#include "opencl/handle.hpp"
#include "support/backend_conformance.hpp"

namespace hocket {
namespace {

using testing::conformance_variant;
using testing::ConformanceParameters;

constexpr const char* kAdvance = R"(
__kernel void advance(uint step, __global const uint* x, ulong n, __global uint* y, ulong m) {
  const size_t i = get_global_id(0);
  if (i < m) y[i] = 3 * y[i] + x[i] + step;
}
__kernel void other(__global uint* y, ulong m) {}
)";

[[maybe_unused]] const bool kRegistered = testing::add_backend_conformance(
    {.suite = "OpenclConformance",
     .backend = make_opencl_backend,
     .specification = "",
     .bad_specification = "quantum",
     .step = [] { return conformance_variant(opencl(kAdvance, "advance")); },
     .failing =
         [] {
           return conformance_variant(opencl("__kernel void advance(uint a) { undeclared(a) }", "advance"));
         }});

/// A device with an array of 100 words on it.
class OpenclBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    backend_ = make_opencl_backend();
    devices_ = backend_->open("");
    if (devices_.empty()) GTEST_SKIP() << backend_->why_none();
    memory_ = devices_.front()->allocate(kShape, kFormat);
  }
  void TearDown() override {
    if (!devices_.empty()) devices_.front()->release(memory_);
  }

  Device& device() { return *devices_.front(); }
  Buffer on_device() const { return {memory_, kShape, dense_strides(kShape), kFormat}; }
  static Buffer on_host(std::vector<std::uint32_t>& words) {
    return {words.data(), kShape, dense_strides(kShape), kFormat};
  }
  static Box whole() { return {{}, kShape}; }

  static void finish(const EventHandle& event) {
    while (!event->done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (const std::exception_ptr failure = event->failure()) std::rethrow_exception(failure);
  }
  void upload(std::vector<std::uint32_t> words) {
    finish(device().copy(LaneId{1},
                         {CopyDirection::HostToDevice, {on_host(words), whole()}, {on_device(), whole()}}));
  }
  std::vector<std::uint32_t> download() {
    std::vector<std::uint32_t> words(100);
    finish(device().copy(LaneId{1},
                         {CopyDirection::DeviceToHost, {on_device(), whole()}, {on_host(words), whole()}}));
    return words;
  }

  /// Launches a kernel `(__global uint* y, ulong n)`.
  EventHandle launch(const opencl& recipe) {
    using List = detail::ParameterList<View<std::uint32_t>>;
    const std::array arguments{Argument{List::parameters()[0], nullptr, on_device()}};
    return device().launch(LaneId{0}, *recipe.build<List>(), arguments);
  }
  std::string message_of_launch(const opencl& recipe) {
    try {
      finish(launch(recipe));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  static constexpr Shape kShape{{100, 1, 1, 1}, 1};
  static constexpr Format kFormat{element_type<std::uint32_t>(), Layout::RowMajor};
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Device>> devices_;
  void* memory_ = nullptr;
};

::testing::AssertionResult mentions(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << part << "\" is not in: " << text;
}

TEST_F(OpenclBackendTest, OpensOneDeviceByItsNumberAndRejectsOneThatIsNotThere) {
  const auto first = backend_->open("0");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0]->properties().kind, "opencl");
  try {
    backend_->open("4000");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_TRUE(mentions(error.what(), "no OpenCL device 4000; there are: 0 = "));
  }
}

TEST_F(OpenclBackendTest, SaysWhichTypesThereAreWhenNoneIsOfTheTypeAskedFor) {
  for (const char* type : {"gpu", "cpu", "accelerator"}) {
    const auto devices = backend_->open(type);
    for (const auto& opened : devices)
      EXPECT_EQ(opened->properties().on_request_only, std::string(type) == "cpu");
    if (devices.empty()) {
      EXPECT_TRUE(mentions(backend_->why_none(), type));
      EXPECT_TRUE(mentions(backend_->why_none(), devices_.front()->properties().name));
    }
  }
}

TEST(OpenclBackend, SaysWhatToInstallWhereThereIsNoDriver) {
  // In a process of its own, since the loader reads its environment once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("OCL_ICD_VENDORS", "/nonexistent/", 1);
        setenv("OCL_ICD_FILENAMES", "", 1);
        const auto backend = make_opencl_backend();
        const bool none =
            backend->open("").empty() && backend->open("gpu").empty() && backend->open("0").empty();
        std::fprintf(stderr, "%s\n", backend->why_none().c_str());
        std::_Exit(none ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "no OpenCL driver is installed.*pocl-opencl-icd");
}

TEST_F(OpenclBackendTest, ShowsTheBuildLogOfAProgramThatDoesNotCompileEachTime) {
  const opencl broken("__kernel void broken(__global uint* y, ulong n) { y[0] = undeclared_name; }",
                      "broken");
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string message = message_of_launch(broken);
    EXPECT_TRUE(mentions(message, "does not compile"));
    EXPECT_TRUE(mentions(message, "undeclared_name"));
    EXPECT_TRUE(mentions(message, device().properties().name));
  }
}

TEST_F(OpenclBackendTest, ListsTheKernelsOfAProgramThatLacksTheOneAskedFor) {
  const std::string message = message_of_launch(opencl(kAdvance, "missing"));
  EXPECT_TRUE(mentions(message, "no kernel 'missing'"));
  EXPECT_TRUE(mentions(message, "advance"));
  EXPECT_TRUE(mentions(message, "other"));
}

TEST_F(OpenclBackendTest, ChecksTheKernelsParametersAgainstTheArguments) {
  EXPECT_TRUE(
      mentions(message_of_launch(opencl(kAdvance, "advance")), "has 5 parameters, but its codelet passes 2"));
  EXPECT_TRUE(mentions(message_of_launch(opencl("__kernel void k(__global double* y, ulong n) {}", "k")),
                       "`__global double* y`"));
  EXPECT_TRUE(
      mentions(message_of_launch(opencl("__kernel void k(__global uint* y, int n) {}", "k")), "`int n`"));
  EXPECT_TRUE(mentions(message_of_launch(opencl("__kernel void k(__local uint* y, ulong n) {}", "k")),
                       "`__local uint* y`"));
}

TEST_F(OpenclBackendTest, PassesBuildOptionsOnAndCompilesEachSetApart) {
  upload(std::vector<std::uint32_t>(100, 0));
  const char* source = "__kernel void add(__global uint* y, ulong n) { y[get_global_id(0)] += AMOUNT; }";
  finish(launch(opencl(source, "add", nullptr, "-DAMOUNT=5")));
  finish(launch(opencl(source, "add", nullptr, "-DAMOUNT=70")));
  finish(launch(opencl(source, "add", nullptr, "-DAMOUNT=5")));
  EXPECT_EQ(download(), std::vector<std::uint32_t>(100, 80));
}

TEST_F(OpenclBackendTest, RoundsTheRangeOfAVariantUpToItsGroups) {
  upload(std::vector<std::uint32_t>(100, 0));
  const opencl recipe(
      "__kernel void mark(__global uint* y, ulong n) {"
      "  if (get_global_id(0) < n) y[get_global_id(0)] = (uint)(get_global_size(0) * 1000 + "
      "get_local_size(0)); }",
      "mark", [](std::span<const Argument> arguments) {
        NdRange range;
        range.global[0] = arguments[0].buffer.shape.extent[0];
        range.local[0] = 16;
        return range;
      });
  finish(launch(recipe));
  EXPECT_EQ(download(), std::vector<std::uint32_t>(100, 112016));
}

TEST_F(OpenclBackendTest, DoesNothingForAnEmptyRangeAndPassesOnWhatTheRangeThrows) {
  upload(std::vector<std::uint32_t>(100, 3));
  const char* source = "__kernel void zero(__global uint* y, ulong n) { y[get_global_id(0)] = 0; }";
  finish(launch(opencl(source, "zero", [](std::span<const Argument>) {
    NdRange range;
    range.global[0] = 0;
    return range;
  })));
  EXPECT_EQ(download(), std::vector<std::uint32_t>(100, 3));
  EXPECT_EQ(message_of_launch(opencl(
                source, "zero",
                [](std::span<const Argument>) -> NdRange { throw InvalidArgument("no range for this"); })),
            "no range for this");
}

TEST_F(OpenclBackendTest, RefusesAVariantOfAnotherBackend) {
  class Foreign final : public Variant {
   public:
    Foreign() : Variant("foreign") {}
  };
  EXPECT_THROW(device().launch(LaneId{0}, Foreign{}, {}), InvalidArgument);
  class ForeignEvent final : public Event {
   public:
    bool done() override { return false; }
    std::exception_ptr failure() override { return nullptr; }
  };
  EXPECT_THROW(device().wait(LaneId{0}, std::make_shared<ForeignEvent>()), InvalidArgument);
}

TEST_F(OpenclBackendTest, RefusesALaneThatItDoesNotHaveAndFormatsThatItCannotHold) {
  EXPECT_THROW(device().record(LaneId{2}), InvalidArgument);
  EXPECT_THROW(device().allocate(kShape, {element_type<float>(), Layout::BankInterleaved}), InvalidArgument);
}

TEST_F(OpenclBackendTest, SaysHowMuchMemoryWasAskedForAndHowMuchThereIs) {
  try {
    device().allocate({{std::size_t{1} << 40, std::size_t{1} << 40, 1, 1}, 2}, kFormat);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_TRUE(mentions(error.what(), std::to_string(device().properties().memory.count)));
    EXPECT_TRUE(mentions(error.what(), "smaller tiles"));
  }
}

TEST_F(OpenclBackendTest, FinishesItsWorkBeforeItIsGoneAndLeavesEventsUsable) {
  std::vector<std::uint32_t> words(100, 0);
  upload(std::vector<std::uint32_t>(100, 1));
  const EventHandle doubled =
      launch(opencl("__kernel void twice(__global uint* y, ulong n) { y[get_global_id(0)] *= 2; }", "twice"));
  device().wait(LaneId{1}, doubled);
  const EventHandle copied = device().copy(
      LaneId{1}, {CopyDirection::DeviceToHost, {on_device(), whole()}, {on_host(words), whole()}});
  devices_.clear();
  clReleaseMemObject(static_cast<cl_mem>(memory_));  // The device would have, and is gone.
  EXPECT_TRUE(doubled->done());
  EXPECT_TRUE(copied->done());
  EXPECT_EQ(copied->failure(), nullptr);
  EXPECT_EQ(words, std::vector<std::uint32_t>(100, 2));
}

TEST_F(OpenclBackendTest, ComputesInDoublePrecisionOrSaysThatItCannot) {
  using List = detail::ParameterList<double, View<std::uint32_t>>;
  const double third = 1.0 / 3.0;
  const std::array arguments{Argument{List::parameters()[0], &third, {}},
                             Argument{List::parameters()[1], nullptr, on_device()}};
  const auto variant = opencl(
                           "__kernel void bits(double a, __global uint* y, ulong n) {"
                           "  y[get_global_id(0)] = (uint)(a * 3e9); }",
                           "bits")
                           .build<List>();
  try {
    finish(device().launch(LaneId{0}, *variant, arguments));
    EXPECT_EQ(download(), std::vector<std::uint32_t>(100, 1000000000u));
  } catch (const DeviceError& error) {
    EXPECT_TRUE(mentions(error.what(), "cl_khr_fp64"));
  }
}

}  // namespace
}  // namespace hocket

#endif  // HOCKET_HAS_OPENCL
