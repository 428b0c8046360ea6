// SPDX-License-Identifier: Apache-2.0
// covariance_tile and convolve on every kind of device.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/kernel_fixture.hpp"

namespace hocket::testing {
namespace {

class Fields : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Fields, every_device(), device_name);

constexpr reference::Covariance kReference{.trend = 2.5,
                                           .trend_years = 67,
                                           .season = 1.5,
                                           .season_smoothness = 1.3,
                                           .season_decay_years = 90,
                                           .period_years = 1,
                                           .medium = 0.66,
                                           .medium_years = 1.2,
                                           .noise = 0.25};

template <class T>
kernels::Covariance<T> covariance_of(const reference::Covariance& r) {
  return {.trend = static_cast<T>(r.trend),
          .trend_years = static_cast<T>(r.trend_years),
          .season = static_cast<T>(r.season),
          .season_smoothness = static_cast<T>(r.season_smoothness),
          .season_decay_years = static_cast<T>(r.season_decay_years),
          .period_years = static_cast<T>(r.period_years),
          .medium = static_cast<T>(r.medium),
          .medium_years = static_cast<T>(r.medium_years),
          .noise = static_cast<T>(r.noise)};
}

// Times within a few years, so that a float resolves the phase of the season.
template <class T>
HostVector<T> times(std::size_t n, double from) {
  HostVector<T> result({n});
  for (std::size_t i = 0; i < n; ++i) result[i] = static_cast<T>(from + 0.0625 * static_cast<double>(i));
  return result;
}

TEST_P(Fields, CovarianceTileFollowsTheFormula) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    struct Tile {
      std::size_t m, n, first_row, first_column;
    };
    // Tiles on, across, beside and far from the diagonal of the whole matrix.
    for (const auto& [m, n, first_row, first_column] :
         {Tile{1, 1, 0, 0}, Tile{33, 33, 0, 0}, Tile{7, 2, 3, 5}, Tile{100, 57, 10, 40},
          Tile{33, 100, 200, 0}}) {
      SCOPED_TRACE(::testing::Message()
                   << m << " x " << n << " at (" << first_row << ", " << first_column << ")");
      HostVector<T> rows = times<T>(m, 0.5);
      HostVector<T> columns = times<T>(n, 1.25);
      HostMatrix<T> k({m, n}, true);
      reference::Matrix expected(m, n);
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          expected(i, j) = reference::covariance(kReference, static_cast<double>(rows[i]),
                                                 static_cast<double>(columns[j])) +
                           (first_row + i == first_column + j ? kReference.noise * kReference.noise : 0);
        }
      }
      run(kernels::covariance_tile<T>(), covariance_of<T>(kReference), first_row, first_column, rows, columns,
          k);
      expect_close(k, expected, 16);
    }
  });
}

TEST_P(Fields, CovarianceTileRefusesShapesThatDoNotFit) {
  HostVector<double> rows = times<double>(4, 0);
  HostVector<double> columns = times<double>(5, 0);
  HostMatrix<double> k({5, 5});
  expect_failure(
      [&] {
        run(kernels::covariance_tile<double>(), covariance_of<double>(kReference), 0u, 0u, rows, columns, k);
      },
      {"covariance_tile", "rows is 4", "columns is 5", "k is 5 x 5"});
}

struct Picture {
  std::size_t stencil_rows, stencil_columns, rows, columns;
};

TEST_P(Fields, ConvolveSumsOverNeighbourhoodsAndContinuesTheBorder) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const Picture& p :
         {Picture{1, 1, 1, 1}, Picture{3, 3, 2, 2}, Picture{3, 3, 33, 100}, Picture{5, 3, 7, 1},
          Picture{2, 4, 100, 57}, Picture{9, 9, 7, 5}, Picture{1, 7, 3, 130}}) {
      SCOPED_TRACE(::testing::Message()
                   << p.stencil_rows << " x " << p.stencil_columns << " on " << p.rows << " x " << p.columns);
      HostMatrix<T> stencil = random_matrix<T>(p.stencil_rows, p.stencil_columns, 1);
      HostMatrix<T> image = random_matrix<T>(p.rows, p.columns, 2, true);
      HostMatrix<T> result({p.rows, p.columns}, true);
      const auto expected = reference::convolve(in_double(stencil), in_double(image));
      run(kernels::convolve<T>(), stencil, image, result);
      expect_close(result, expected, stencil.size());
    }
  });
}

TEST_P(Fields, ConvolveDoesNotFlipTheStencil) {
  HostMatrix<double> stencil({1, 3});
  stencil(0, 2) = 1;  // takes the neighbour on the right
  HostMatrix<double> image({1, 4});
  for (std::size_t j = 0; j < 4; ++j) image(0, j) = static_cast<double>(j);
  HostMatrix<double> result({1, 4});
  run(kernels::convolve<double>(), stencil, image, result);
  EXPECT_EQ(result(0, 0), 1.0);
  EXPECT_EQ(result(0, 3), 3.0) << "the border continues with its last column";
}

TEST_P(Fields, ConvolveRefusesAResultOfAnotherShape) {
  HostMatrix<float> stencil = random_matrix<float>(3, 3, 1);
  HostMatrix<float> image = random_matrix<float>(4, 5, 2);
  HostMatrix<float> result({5, 4});
  expect_failure([&] { run(kernels::convolve<float>(), stencil, image, result); },
                 {"convolve", "shape of the image", "image is 4 x 5", "result is 5 x 4"});
}

}  // namespace
}  // namespace hocket::testing
