// SPDX-License-Identifier: Apache-2.0
// Kernels that work on tiles of one matrix, on several kinds of device at once.
#include <gtest/gtest.h>

#include <hocket/kernels.hpp>
#include <memory>
#include <string>

#include "support/kernel_fixture.hpp"

namespace hocket::testing {
namespace {

using kernels::Solve;
using kernels::Transpose;

// The right-looking tiled Cholesky factorisation of the lower triangle. `where(step)` names the device of
// each task.
template <class T, class Where>
void factor_by_tiles(Runtime& runtime, const Data<T, 2>& a, std::size_t tile, const Where& where) {
  const Tiles<T, 2> tiles = a.tiles(tile, tile);
  const std::size_t count = tiles.count(0);
  std::size_t step = 0;
  const auto on_next = [&] { return TaskOptions{.on = where(step++)}; };
  for (std::size_t k = 0; k < count; ++k) {
    runtime.submit(on_next(), kernels::potrf<T>(), tiles(k, k));
    for (std::size_t i = k + 1; i < count; ++i)
      runtime.submit(on_next(), kernels::trsm<T>(), Solve::RightTransposed, tiles(k, k), tiles(i, k));
    for (std::size_t i = k + 1; i < count; ++i) {
      for (std::size_t j = k + 1; j < i; ++j) {
        runtime.submit(on_next(), kernels::gemm<T>(), Transpose::No, Transpose::Yes, T(-1), tiles(i, k),
                       tiles(j, k), T(1), tiles(i, j));
      }
      runtime.submit(on_next(), kernels::syrk<T>(), T(-1), tiles(i, k), T(1), tiles(i, i));
    }
  }
}

class KernelMixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto opencl = make_opencl_backend();
    if (opencl == nullptr || opencl->open("").empty() || make_pim_backend() == nullptr)
      GTEST_SKIP() << "needs an OpenCL device and the PIM emulator";
  }

  // 100 rows in tiles of 33: the last tiles have one row or column.
  template <class Where>
  static void expect_factor(const std::string& policy, const Where& where) {
    constexpr std::size_t kRows = 100;
    HostMatrix<double> a({kRows, kRows});
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kRows; ++j)
        a(i, j) = 1.0 / (1.0 + static_cast<double>(i > j ? i - j : j - i)) + (i == j ? 2.0 : 0.0);
    }
    poison_upper_triangle(a);
    const auto expected = reference::cholesky(in_double(a));
    RuntimeOptions options;
    options.devices = "cpu:2,opencl,pim:7";
    options.policy = policy;
    Runtime runtime(options);
    {
      const Data<double, 2> data = runtime.data(a.whole_data(), {kRows, kRows});
      factor_by_tiles(runtime, data, 33, where);
      runtime.wait();
    }
    // Tiles above the diagonal and the upper triangles of those on it have kept their NaN.
    expect_close(a, expected, kRows, Part::LowerTriangle);
  }
};

TEST_F(KernelMixture, TiledCholeskyIsRightWhenTasksTakeTurnsOnAllKindsOfDevice) {
  const char* const kinds[] = {"cpu", "opencl", "pim"};
  for (const std::size_t shift : {0, 1, 2}) {
    SCOPED_TRACE(::testing::Message() << "the first task runs on " << kinds[shift]);
    expect_factor("eager", [&](std::size_t step) { return kinds[(step + shift) % 3]; });
  }
}

TEST_F(KernelMixture, TiledCholeskyIsRightWhereverThePolicyPutsTheTasks) {
  for (const char* policy : {"eager", "ws", "eft"}) {
    SCOPED_TRACE(policy);
    expect_factor(policy, [](std::size_t) { return ""; });
  }
}

}  // namespace
}  // namespace hocket::testing
