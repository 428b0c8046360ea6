// SPDX-License-Identifier: Apache-2.0
#include "co2/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <hocket/error.hpp>
#include <numeric>

namespace hocket::jobs::co2 {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Rasmussen and Williams (2006), section 5.4.3: the values that they found for the monthly means of the same
// record (parts per million and years). For the medium term they are those of the rational quadratic; the
// noise is the white part of theirs.
constexpr Hyperparameters kBook = {.trend = 66,
                                   .trend_years = 67,
                                   .season = 2.4,
                                   .season_smoothness = 1.3,
                                   .season_decay_years = 90,
                                   .period_years = 1,
                                   .medium = 0.66,
                                   .medium_years = 1.2,
                                   .noise = 0.19};

// Standard deviation of the weekly record 1958-2001, and of what a parabola leaves of it (parts per million).
constexpr double kRecordSpread = 17.0;
constexpr double kRecordResidual = 2.21;

// The members that the search moves.
constexpr std::array<double Hyperparameters::*, 8> kSearched = {&Hyperparameters::trend,
                                                                &Hyperparameters::trend_years,
                                                                &Hyperparameters::season,
                                                                &Hyperparameters::season_smoothness,
                                                                &Hyperparameters::season_decay_years,
                                                                &Hyperparameters::medium,
                                                                &Hyperparameters::medium_years,
                                                                &Hyperparameters::noise};

double square(double x) { return x * x; }

double spread_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += square(value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// What the least-squares parabola leaves, by Gram-Schmidt on 1, t, t²: as good as QR for three columns once t
// is centred and scaled.
std::vector<double> parabola_residual(const Series& series) {
  const std::size_t n = series.size();
  const double middle = 0.5 * (series.years.front() + series.years.back());
  const double half = 0.5 * (series.years.back() - series.years.front());
  std::vector<double> residual = series.values;
  std::array<std::vector<double>, 3> basis;
  for (std::size_t power = 0; power < basis.size(); ++power) {
    basis[power].resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      basis[power][i] = std::pow((series.years[i] - middle) / half, static_cast<double>(power));
    }
    const auto remove = [n](std::vector<double>& from, const std::vector<double>& direction) {
      const double along = std::inner_product(from.begin(), from.end(), direction.begin(), 0.0);
      for (std::size_t i = 0; i < n; ++i) from[i] -= along * direction[i];
    };
    for (std::size_t before = 0; before < power; ++before) remove(basis[power], basis[before]);
    const double norm =
        std::sqrt(std::inner_product(basis[power].begin(), basis[power].end(), basis[power].begin(), 0.0));
    for (double& x : basis[power]) x /= norm;
    remove(residual, basis[power]);
  }
  return residual;
}

}  // namespace

double covariance(const Hyperparameters& h, double t1_years, double t2_years) {
  const double d = t1_years - t2_years;
  const double trend = square(h.trend) * std::exp(-0.5 * square(d / h.trend_years));
  const double phase = std::sin(kPi * d / h.period_years);
  const double season = square(h.season) * std::exp(-0.5 * square(d / h.season_decay_years) -
                                                    2.0 * square(phase / h.season_smoothness));
  const double medium = square(h.medium) * std::exp(-0.5 * square(d / h.medium_years));
  return trend + season + medium;
}

double prior_variance(const Hyperparameters& h) {
  return square(h.trend) + square(h.season) + square(h.medium);
}

double noise_variance(const Hyperparameters& h) { return square(h.noise); }

double log_likelihood(std::size_t n, double squared_norm, double half_log_determinant) {
  return -0.5 * squared_norm - half_log_determinant - 0.5 * static_cast<double>(n) * std::log(2.0 * kPi);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Hyperparameters starting_point(const Series& series) {
  const double spread = spread_of(series.values);
  if (!(spread > 0) || !std::isfinite(spread)) {
    throw InvalidArgument("the values of " + series.source +
                          (spread == 0 ? " are all equal: there is nothing to fit"
                                       : " are too large to fit; give them in a larger unit"));
  }
  // The floor keeps the noise away from zero for an exact parabola, whose covariance matrix would be
  // singular.
  const double residual = std::max(spread_of(parabola_residual(series)), 0.01 * spread);
  Hyperparameters start = kBook;
  start.trend *= spread / kRecordSpread;
  for (const auto member : {&Hyperparameters::season, &Hyperparameters::medium, &Hyperparameters::noise}) {
    start.*member *= residual / kRecordResidual;
  }
  return start;
}

std::vector<Hyperparameters> design(const Hyperparameters& centre, std::size_t count, double spread) {
  if (count == 0 || !(spread >= 1)) {
    throw InvalidArgument("a search needs at least one set of hyperparameters and a spread of at least 1");
  }
  // Additive recurrence on the powers of 1/g with g the root of g^(d+1) = g + 1, the generalised golden ratio
  // (M. Roberts, The unreasonable effectiveness of quasirandom sequences, 2018). Fixed-point iteration
  // converges.
  double g = 2.0;
  for (int i = 0; i < 64; ++i) g = std::pow(1.0 + g, 1.0 / (kSearched.size() + 1.0));
  std::vector<Hyperparameters> sets(count, centre);
  for (std::size_t i = 1; i < count; ++i) {
    double step = 1.0;
    for (const auto member : kSearched) {
      step /= g;
      const double position = 0.5 + static_cast<double>(i) * step;
      sets[i].*member *= std::pow(spread, 2.0 * (position - std::floor(position)) - 1.0);
    }
  }
  return sets;
}

std::vector<double> forecast_times(double last_years, std::size_t years, std::size_t per_year) {
  std::vector<double> times(years * per_year);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = last_years + static_cast<double>(i + 1) / static_cast<double>(per_year);
  }
  return times;
}

double predictive_deviation(const Hyperparameters& h, double explained) {
  return std::sqrt(std::max(prior_variance(h) - explained, 0.0) + noise_variance(h));
}

}  // namespace hocket::jobs::co2
