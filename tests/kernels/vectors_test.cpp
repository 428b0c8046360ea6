// SPDX-License-Identifier: Apache-2.0
// fill, axpy, reduce and histogram on every kind of device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "support/kernel_fixture.hpp"

namespace hocket::testing {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 7, 33, 100, 1000, 4099};

class VectorKernels : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, VectorKernels, every_device(), device_name);

TEST_P(VectorKernels, FillWritesEveryElementOfAVector) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::size_t n : kSizes) {
      HostVector<T> y({n}, true);
      run(kernels::fill<T>(), T(2.5), y);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], T(2.5)) << "element " << i << " of " << n;
      EXPECT_TRUE(y.surroundings_are_untouched());
    }
  });
}

TEST_P(VectorKernels, FillMatrixWritesEveryElementOfATile) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    HostMatrix<T> y({100, 57}, true);
    run(kernels::fill_matrix<T>(), T(-3), y);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], T(-3)) << "element " << i;
    EXPECT_TRUE(y.surroundings_are_untouched());
  });
}

TEST_P(VectorKernels, AxpyAddsAMultiple) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::size_t n : kSizes) {
      HostVector<T> x = random_vector<T>(n, 1);
      HostVector<T> y = random_vector<T>(n, 2);
      reference::Matrix expected = in_double(y);
      for (std::size_t i = 0; i < n; ++i) expected.values[i] += 0.75 * static_cast<double>(x[i]);
      run(kernels::axpy<T>(), T(0.75), x, y);
      expect_close(y, expected, 1);
    }
  });
}

TEST_P(VectorKernels, AxpyRefusesVectorsOfDifferentSizes) {
  HostVector<double> x = random_vector<double>(5, 1);
  HostVector<double> y = random_vector<double>(6, 2);
  expect_failure([&] { run(kernels::axpy<double>(), 1.0, x, y); }, {"axpy", "x is 5", "y is 6"});
}

TEST_P(VectorKernels, ReduceSumsAllElements) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::size_t n : kSizes) {
      HostVector<T> x = random_vector<T>(n, 3);
      HostVector<T> sum({1});
      sum[0] = std::numeric_limits<T>::quiet_NaN();
      const reference::Matrix values = in_double(x);
      reference::Matrix expected(1, 1);
      expected(0, 0) = std::accumulate(values.values.begin(), values.values.end(), 0.0);
      run(kernels::reduce<T>(), x, sum);
      expect_close(sum, expected, n);
    }
  });
}

TEST_P(VectorKernels, ReduceGivesTheSameBitsInEveryRun) {
  HostVector<float> x = random_vector<float>(4099, 4);
  HostVector<float> first({1});
  HostVector<float> second({1});
  run(kernels::reduce<float>(), x, first);
  run(kernels::reduce<float>(), x, second);
  EXPECT_EQ(first[0], second[0]);
}

TEST_P(VectorKernels, ReduceRefusesAResultOfSeveralElements) {
  HostVector<float> x = random_vector<float>(5, 1);
  HostVector<float> sum({2});
  expect_failure([&] { run(kernels::reduce<float>(), x, sum); }, {"reduce", "one element", "sum is 2"});
}

// Values a quarter of a bin from the edges, so that rounding decides nothing; some beyond both ends.
template <class T>
void place_inside_bins(HostArray<T, 1>& x, std::size_t bins) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto bin = static_cast<double>((i * i + 3 * i) % (bins + 4)) - 2.0;
    x[i] = static_cast<T>(-1.0 + 2.0 * (bin + (i % 2 == 0 ? 0.25 : 0.75)) / static_cast<double>(bins));
  }
}

TEST_P(VectorKernels, HistogramCountsValuesByBin) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::size_t bins : {1, 3, 64, 256, 1000}) {
      for (const std::size_t n : kSizes) {
        HostVector<T> x({n});
        place_inside_bins(x, bins);
        HostVector<std::uint32_t> counts({bins});
        run(kernels::histogram<T>(), T(-1), T(1), x, counts);
        const auto expected = reference::histogram(-1, 1, in_double(x).values, bins);
        for (std::size_t b = 0; b < bins; ++b)
          ASSERT_EQ(counts[b], expected[b]) << "bin " << b << " of " << bins << ", " << n << " values";
      }
    }
  });
}

TEST_P(VectorKernels, HistogramOfAMatrixCountsItsElements) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    HostVector<T> values({33 * 57});
    place_inside_bins(values, 16);
    HostMatrix<T> x({33, 57}, true);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = values[i];
    HostVector<std::uint32_t> counts({16});
    run(kernels::histogram_matrix<T>(), T(-1), T(1), x, counts);
    const auto expected = reference::histogram(-1, 1, in_double(x).values, 16);
    for (std::size_t b = 0; b < 16; ++b) ASSERT_EQ(counts[b], expected[b]) << "bin " << b;
  });
}

TEST_P(VectorKernels, HistogramPutsEdgesIntoTheUpperBinAndTheEndIntoTheLast) {
  HostVector<double> x({8});
  const std::vector<double> values = {0.0, 1.0, 2.0, 4.0, -1e-9, 4.0 + 1e-9, std::nan(""), 3.5};
  for (std::size_t i = 0; i < values.size(); ++i) x[i] = values[i];
  HostVector<std::uint32_t> counts({4});
  run(kernels::histogram<double>(), 0.0, 4.0, x, counts);
  EXPECT_EQ(counts[0], 1u);
  EXPECT_EQ(counts[1], 1u);
  EXPECT_EQ(counts[2], 1u);
  EXPECT_EQ(counts[3], 2u);
}

TEST_P(VectorKernels, HistogramRefusesAnEmptyRange) {
  HostVector<double> x = random_vector<double>(5, 1);
  HostVector<std::uint32_t> counts({4});
  expect_failure([&] { run(kernels::histogram<double>(), 2.0, 2.0, x, counts); },
                 {"histogram", "lo less than hi"});
}

}  // namespace
}  // namespace hocket::testing
