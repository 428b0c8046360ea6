// SPDX-License-Identifier: Apache-2.0
/// What the bundled kernels should compute, written as the formulas are, in double precision and without
/// regard to speed. Shares no code with the kernels. Pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hocket::testing::reference {

/// A dense matrix.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values{};

  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  double& operator()(std::size_t i, std::size_t j) { return values.at(i * columns + j); }
  double operator()(std::size_t i, std::size_t j) const { return values.at(i * columns + j); }
};

inline Matrix transpose(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  return result;
}

/// alpha A B + beta C, in which C does not matter where beta is 0.
inline Matrix product(double alpha, const Matrix& a, const Matrix& b, double beta, const Matrix& c) {
  if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns)
    throw std::invalid_argument("reference::product: the shapes do not fit");
  Matrix result(c.rows, c.columns);
  for (std::size_t i = 0; i < c.rows; ++i) {
    for (std::size_t j = 0; j < c.columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j);
      result(i, j) = alpha * sum + (beta == 0 ? 0 : beta * c(i, j));
    }
  }
  return result;
}

/// L with L L^T = A, zero above the diagonal, from the lower triangle of A. Where A is not positive definite
/// a pivot is NaN.
inline Matrix cholesky(const Matrix& a) {
  Matrix l(a.rows, a.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
    }
  }
  return l;
}

/// X with T X = B, T lower triangular or, with `upper`, upper triangular.
inline Matrix solve_triangular(const Matrix& t, bool upper, const Matrix& b) {
  Matrix x = b;
  for (std::size_t step = 0; step < t.rows; ++step) {
    const std::size_t i = upper ? t.rows - 1 - step : step;
    for (std::size_t j = 0; j < b.columns; ++j) {
      double sum = b(i, j);
      for (std::size_t before = 0; before < step; ++before) {
        const std::size_t k = upper ? t.rows - 1 - before : before;
        sum -= t(i, k) * x(k, j);
      }
      x(i, j) = sum / t(i, i);
    }
  }
  return x;
}

struct Covariance {
  double trend, trend_years;
  double season, season_smoothness, season_decay_years, period_years;
  double medium, medium_years;
  double noise;
};

/// Without the noise.
inline double covariance(const Covariance& c, double t1, double t2) {
  const auto squared = [](double x) { return x * x; };
  const double d = t1 - t2;
  const double phase = std::sin(std::acos(-1.0) * d / c.period_years);
  return squared(c.trend) * std::exp(-squared(d) / (2 * squared(c.trend_years))) +
         squared(c.season) * std::exp(-squared(d) / (2 * squared(c.season_decay_years)) -
                                      2 * squared(phase) / squared(c.season_smoothness)) +
         squared(c.medium) * std::exp(-squared(d) / (2 * squared(c.medium_years)));
}

/// The image is continued past its border by its outermost rows and columns.
inline Matrix convolve(const Matrix& stencil, const Matrix& image) {
  const auto inside = [](std::size_t i, std::size_t u, std::size_t half, std::size_t extent) {
    const auto place = static_cast<std::int64_t>(i + u) - static_cast<std::int64_t>(half);
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(place, 0, static_cast<std::int64_t>(extent) - 1));
  };
  Matrix result(image.rows, image.columns);
  for (std::size_t i = 0; i < image.rows; ++i) {
    for (std::size_t j = 0; j < image.columns; ++j) {
      for (std::size_t u = 0; u < stencil.rows; ++u) {
        for (std::size_t v = 0; v < stencil.columns; ++v) {
          result(i, j) += stencil(u, v) * image(inside(i, u, stencil.rows / 2, image.rows),
                                                inside(j, v, stencil.columns / 2, image.columns));
        }
      }
    }
  }
  return result;
}

/// Bin b holds the values from lo + b w up to and without lo + (b + 1) w, w being the width (hi - lo) / bins;
/// the last bin has `hi` as well.
inline std::vector<std::uint32_t> histogram(double lo, double hi, const std::vector<double>& values,
                                            std::size_t bins) {
  std::vector<std::uint32_t> counts(bins, 0);
  const double width = (hi - lo) / static_cast<double>(bins);
  for (const double value : values) {
    for (std::size_t b = 0; b < bins; ++b) {
      const double from = lo + static_cast<double>(b) * width;
      const double to = lo + static_cast<double>(b + 1) * width;
      if (value >= from && (value < to || (b + 1 == bins && value == hi))) ++counts[b];
    }
  }
  return counts;
}

}  // namespace hocket::testing::reference
