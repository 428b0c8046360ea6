// SPDX-License-Identifier: Apache-2.0
/// A test of bundled kernels that is run on each kind of device, and comparisons with the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <hocket/backend.hpp>
#include <hocket/kernels.hpp>
#include <limits>
#include <memory>
#include <string>

#include "support/kernel_runner.hpp"
#include "support/reference.hpp"

namespace hocket::testing {

/// The parameter is a device specification. Skips where the device is not there.
class OnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string devices = GetParam();
    if (is("opencl") || is("pim")) {
      const std::unique_ptr<Backend> backend = is("opencl") ? make_opencl_backend() : make_pim_backend();
      if (backend == nullptr) GTEST_SKIP() << "this build has no " << devices << " devices";
      if (backend->open("").empty()) GTEST_SKIP() << "no " << devices << " device: " << backend->why_none();
    }
    runner_ = std::make_unique<KernelRunner>(devices);
  }

  static bool is(const std::string& kind) { return std::string(GetParam()).rfind(kind, 0) == 0; }

  template <class C, class... Args>
  void run(const C& codelet, Args&&... arguments) {
    runner_->run(codelet, std::forward<Args>(arguments)...);
  }

  /// Expects that the task fails and that its message holds each of `parts`.
  template <class Submit>
  static void expect_failure(const Submit& submit, std::initializer_list<const char*> parts) {
    try {
      submit();
    } catch (const std::exception& error) {
      for (const char* part : parts) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << "the message lacks \"" << part << "\": " << error.what();
      }
      return;
    }
    FAIL() << "it should have failed";
  }

 private:
  std::unique_ptr<KernelRunner> runner_;
};

/// Names tests after the device: "cpu_2".
inline std::string device_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

/// What every kernel is tested on. 7 DPUs do not divide the sizes; 64 are more than many have rows.
inline auto every_device() { return ::testing::Values("cpu:2", "opencl", "pim:7", "pim:64"); }

/// Calls `body(T{})` for each element type.
template <class Body>
void for_each_type(const Body& body) {
  {
    SCOPED_TRACE("float");
    body(float{});
  }
  {
    SCOPED_TRACE("double");
    body(double{});
  }
}

enum class Part { Whole, LowerTriangle };

/// Expects elements within the rounding errors of sums of `terms` products of numbers around 1.
template <class T, std::size_t Rank>
void expect_close(const HostArray<T, Rank>& result, const reference::Matrix& expected, std::size_t terms,
                  Part part = Part::Whole) {
  ASSERT_EQ(result.size(), expected.values.size());
  double largest = 1;
  for (const double value : expected.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double tolerance = 2.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                           (static_cast<double>(terms) + 8.0) * largest;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t row = i / expected.columns;
    const std::size_t column = i % expected.columns;
    if (part == Part::LowerTriangle && column > row) {
      ASSERT_TRUE(std::isnan(result[i])) << "written above the diagonal at (" << row << ", " << column << ")";
      continue;
    }
    ASSERT_NEAR(static_cast<double>(result[i]), expected.values[i], tolerance)
        << "at (" << row << ", " << column << ")";
  }
  EXPECT_TRUE(result.surroundings_are_untouched());
}

}  // namespace hocket::testing
