// SPDX-License-Identifier: Apache-2.0
//
// The Gaussian process that explains a yearly-seasonal series: y(t) = m + f(t) + noise, with m the mean of
// the values and f a zero-mean process of covariance
//
//   k(d) = trend²  exp(-d² / 2 trend_years²)                                             the slow rise
//        + season² exp(-d² / 2 season_decay_years² - 2 sin²(π d / period_years) / season_smoothness²)   the
//        season
//        + medium² exp(-d² / 2 medium_years²)                                            what lasts months to
//        years
//
// of the distance d in years, plus white noise on every observation. It is the model of C. E. Rasmussen and
// C. K. I. Williams, Gaussian Processes for Machine Learning (2006), section 5.4.3, with one squared
// exponential in place of its rational quadratic, and white noise alone in place of its correlated one.
//
// Everything here is a pure function; any thread may call it. Standard deviations are in the unit of the
// values, lengths in years.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "co2/series.hpp"

namespace hocket::jobs::co2 {

struct Hyperparameters {
  double trend = 0;
  double trend_years = 0;
  double season = 0;
  double season_smoothness = 0;   // without unit; large means close to a sine
  double season_decay_years = 0;  // over which the shape of the season changes
  double period_years = 1;
  double medium = 0;
  double medium_years = 0;
  double noise = 0;
};

// Covariance of f(t1) and f(t2), without the noise: that belongs to an observation, not to a time, and is
// added to the diagonal of the matrix of the observations by noise_variance().
double covariance(const Hyperparameters& h, double t1_years, double t2_years);

// Variance of f at any time: covariance(h, t, t).
double prior_variance(const Hyperparameters& h);
double noise_variance(const Hyperparameters& h);

// Log marginal likelihood of n centred observations y, from the Cholesky factor L of their covariance matrix:
// `squared_norm` is |L⁻¹ y|², `half_log_determinant` the sum of the logarithms of L's diagonal.
double log_likelihood(std::size_t n, double squared_norm, double half_log_determinant);

// Mean of the values: what is subtracted before the fit and added to every prediction.
double mean_of(const std::vector<double>& values);

// Where the search starts: the figures of the book, scaled from the CO2 record to this series. The amplitude
// of the trend scales with the spread of the values, those of season, medium term and noise with the spread
// of what a fitted parabola leaves; lengths are kept, for the season is yearly. Throws InvalidArgument where
// all values are equal.
Hyperparameters starting_point(const Series& series);

// `count` sets of hyperparameters around `centre`, which is itself the first: each factor is drawn evenly, on
// a logarithmic scale, between 1/spread and spread, by an additive recurrence that fills the space without
// clumps (so a larger count extends a smaller one). The period is kept. Deterministic: the same arguments
// give the same sets on every machine. Throws InvalidArgument where count is 0 or spread is below 1.
std::vector<Hyperparameters> design(const Hyperparameters& centre, std::size_t count, double spread);

// Evenly spaced times from the last observation on: `per_year` a year for `years` years, the last
// observation's own time excluded, so that the last of each `per_year` falls on a whole number of years after
// it.
std::vector<double> forecast_times(double last_years, std::size_t years, std::size_t per_year);

// Predictions of the value that would be observed at some times: mean, and standard deviation with the noise
// in it.
struct Prediction {
  std::vector<double> years;
  std::vector<double> mean;
  std::vector<double> deviation;
};

// Standard deviation of an observation whose cross-covariance k with the data has |L⁻¹ k|² = `explained`.
// Rounding may leave a variance a hair below zero where the data say all; it counts as the noise alone.
double predictive_deviation(const Hyperparameters& h, double explained);

}  // namespace hocket::jobs::co2
