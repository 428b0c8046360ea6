// SPDX-License-Identifier: Apache-2.0
// gemv, gemm and syrk on every kind of device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/kernel_fixture.hpp"

namespace hocket::testing {
namespace {

using kernels::Transpose;

struct Sizes {
  std::size_t m, n, k;
};
constexpr Sizes kSizes[] = {{1, 1, 1},    {2, 2, 2},     {7, 2, 33},   {33, 7, 1},
                            {1, 100, 57}, {100, 57, 33}, {65, 130, 70}};

template <class T, std::size_t Rank>
void set_to_nan(HostArray<T, Rank>& array) {
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = std::numeric_limits<T>::quiet_NaN();
}

class Products : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Products, every_device(), device_name);

TEST_P(Products, GemvMultipliesAMatrixAndAVector) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto& [m, n, k] : kSizes) {
      for (const bool tile : {false, true}) {
        HostMatrix<T> a = random_matrix<T>(m, n, 1, tile);
        HostVector<T> x = random_vector<T>(n, 2);
        HostVector<T> y = random_vector<T>(m, 3);
        const auto expected = reference::product(-1.5, in_double(a), in_double(x), 0.5, in_double(y));
        run(kernels::gemv<T>(), T(-1.5), a, x, T(0.5), y);
        expect_close(y, expected, n);
      }
    }
  });
}

TEST_P(Products, GemvTransposedMultipliesTheTransposedMatrix) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto& [m, n, k] : kSizes) {
      for (const bool tile : {false, true}) {
        HostMatrix<T> a = random_matrix<T>(m, n, 1, tile);
        HostVector<T> x = random_vector<T>(m, 2);
        HostVector<T> y = random_vector<T>(n, 3);
        const auto expected =
            reference::product(-1.5, reference::transpose(in_double(a)), in_double(x), 0.5, in_double(y));
        run(kernels::gemv_transposed<T>(), T(-1.5), a, x, T(0.5), y);
        expect_close(y, expected, m);
      }
    }
  });
}

TEST_P(Products, GemvWithBetaZeroIgnoresTheFormerResult) {
  HostMatrix<double> a = random_matrix<double>(33, 7, 1);
  HostVector<double> x = random_vector<double>(7, 2);
  HostVector<double> y({33});
  set_to_nan(y);
  const auto expected = reference::product(1, in_double(a), in_double(x), 0, in_double(y));
  run(kernels::gemv<double>(), 1.0, a, x, 0.0, y);
  expect_close(y, expected, 7);

  HostVector<double> z({7});
  set_to_nan(z);
  const auto expected_transposed =
      reference::product(1, reference::transpose(in_double(a)), in_double(y), 0, in_double(z));
  run(kernels::gemv_transposed<double>(), 1.0, a, y, 0.0, z);
  expect_close(z, expected_transposed, 33);
}

TEST_P(Products, GemvRefusesShapesThatDoNotFit) {
  HostMatrix<double> a = random_matrix<double>(4, 5, 1);
  HostVector<double> x = random_vector<double>(4, 2);
  HostVector<double> y = random_vector<double>(4, 3);
  expect_failure([&] { run(kernels::gemv<double>(), 1.0, a, x, 0.0, y); },
                 {"gemv", "A is 4 x 5", "x is 4", "y is 4"});
  expect_failure([&] { run(kernels::gemv_transposed<double>(), 1.0, a, x, 0.0, y); },
                 {"gemv_transposed", "A is 4 x 5", "x is 4", "y is 4"});
}

TEST_P(Products, GemmMultipliesMatricesAndTheirTransposes) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto& [m, n, k] : kSizes) {
      for (const Transpose ta : {Transpose::No, Transpose::Yes}) {
        for (const Transpose tb : {Transpose::No, Transpose::Yes}) {
          SCOPED_TRACE(::testing::Message()
                       << m << " x " << n << " x " << k << (ta == Transpose::Yes ? " A^T" : "")
                       << (tb == Transpose::Yes ? " B^T" : ""));
          HostMatrix<T> a =
              ta == Transpose::Yes ? random_matrix<T>(k, m, 1) : random_matrix<T>(m, k, 1, true);
          HostMatrix<T> b =
              tb == Transpose::Yes ? random_matrix<T>(n, k, 2, true) : random_matrix<T>(k, n, 2);
          HostMatrix<T> c = random_matrix<T>(m, n, 3, m > 2);
          const auto op_a = ta == Transpose::Yes ? reference::transpose(in_double(a)) : in_double(a);
          const auto op_b = tb == Transpose::Yes ? reference::transpose(in_double(b)) : in_double(b);
          const auto expected = reference::product(-0.5, op_a, op_b, 2, in_double(c));
          run(kernels::gemm<T>(), ta, tb, T(-0.5), a, b, T(2), c);
          expect_close(c, expected, k);
        }
      }
    }
  });
}

TEST_P(Products, GemmWithBetaZeroIgnoresTheFormerResult) {
  HostMatrix<float> a = random_matrix<float>(33, 7, 1);
  HostMatrix<float> b = random_matrix<float>(7, 57, 2);
  HostMatrix<float> c({33, 57});
  set_to_nan(c);
  const auto expected = reference::product(1, in_double(a), in_double(b), 0, in_double(c));
  run(kernels::gemm<float>(), Transpose::No, Transpose::No, 1.0f, a, b, 0.0f, c);
  expect_close(c, expected, 7);
}

TEST_P(Products, GemmRefusesShapesThatDoNotFit) {
  HostMatrix<double> a = random_matrix<double>(4, 5, 1);
  HostMatrix<double> b = random_matrix<double>(5, 6, 2);
  HostMatrix<double> c = random_matrix<double>(4, 6, 3);
  expect_failure([&] { run(kernels::gemm<double>(), Transpose::Yes, Transpose::No, 1.0, a, b, 0.0, c); },
                 {"gemm", "op(A) = A^T", "A is 4 x 5", "B is 5 x 6", "C is 4 x 6"});
}

TEST_P(Products, SyrkUpdatesTheLowerTriangleAlone) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const auto& [m, n, k] : kSizes) {
      SCOPED_TRACE(::testing::Message() << m << " x " << k);
      HostMatrix<T> a = random_matrix<T>(m, k, 1, true);
      HostMatrix<T> c = random_matrix<T>(m, m, 2, k > 1);
      poison_upper_triangle(c);
      const auto expected =
          reference::product(-1, in_double(a), reference::transpose(in_double(a)), 1, in_double(c));
      run(kernels::syrk<T>(), T(-1), a, T(1), c);
      expect_close(c, expected, k, Part::LowerTriangle);
    }
  });
}

TEST_P(Products, SyrkRefusesAResultThatIsNotSquare) {
  HostMatrix<double> a = random_matrix<double>(4, 5, 1);
  HostMatrix<double> c = random_matrix<double>(4, 5, 2);
  expect_failure([&] { run(kernels::syrk<double>(), 1.0, a, 0.0, c); },
                 {"syrk", "must be square", "C is 4 x 5"});
}

}  // namespace
}  // namespace hocket::testing
