// SPDX-License-Identifier: Apache-2.0
#include "co2/reference.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <cmath>
#include <hocket/error.hpp>

// LAPACK's own symbol: OpenBLAS carries it, so that no further library is needed.
// NOLINTNEXTLINE(readability-identifier-naming): the name is LAPACK's.
extern "C" void dpotrf_(const char* triangle, const int* n, double* matrix, const int* leading, int* info);

namespace hocket::jobs::co2 {
namespace {

struct Factored {
  int n = 0;
  std::vector<double> factor;    // column-major, lower triangle
  std::vector<double> whitened;  // L⁻¹ (y - m)
};

Factored factor(const Hyperparameters& h, const Series& series) {
  Factored result;
  const std::size_t n = series.size();
  result.n = static_cast<int>(n);
  result.factor.assign(n * n, 0.0);
  for (std::size_t column = 0; column < n; ++column) {
    for (std::size_t row = column; row < n; ++row) {
      result.factor[column * n + row] = covariance(h, series.years[row], series.years[column]);
    }
    result.factor[column * n + column] += noise_variance(h);
  }
  int info = 0;
  dpotrf_("L", &result.n, result.factor.data(), &result.n, &info);
  if (info != 0) throw Error(fmt::format("the covariance matrix is not positive definite (order {})", info));
  const double mean = mean_of(series.values);
  for (const double value : series.values) result.whitened.push_back(value - mean);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, result.n, result.factor.data(), result.n,
              result.whitened.data(), 1);
  return result;
}

}  // namespace

double reference_log_likelihood(const Hyperparameters& h, const Series& series) {
  const Factored f = factor(h, series);
  double half_log_determinant = 0;
  for (std::size_t i = 0; i < series.size(); ++i)
    half_log_determinant += std::log(f.factor[i * series.size() + i]);
  return log_likelihood(series.size(), cblas_ddot(f.n, f.whitened.data(), 1, f.whitened.data(), 1),
                        half_log_determinant);
}

Prediction reference_prediction(const Hyperparameters& h, const Series& series,
                                const std::vector<double>& times) {
  const Factored f = factor(h, series);
  const double mean = mean_of(series.values);
  Prediction prediction;
  std::vector<double> cross(series.size());
  for (const double time : times) {
    for (std::size_t i = 0; i < series.size(); ++i) cross[i] = covariance(h, series.years[i], time);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, f.n, f.factor.data(), f.n,
                cross.data(), 1);
    prediction.years.push_back(time);
    prediction.mean.push_back(mean + cblas_ddot(f.n, cross.data(), 1, f.whitened.data(), 1));
    prediction.deviation.push_back(
        predictive_deviation(h, cblas_ddot(f.n, cross.data(), 1, cross.data(), 1)));
  }
  return prediction;
}

}  // namespace hocket::jobs::co2
