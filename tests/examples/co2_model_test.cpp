// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <hocket/error.hpp>
#include <vector>

#include "co2/model.hpp"
#include "co2/reference.hpp"

namespace hocket::jobs::co2 {
namespace {

// Weekly values with a rise and a season; irregular where `skip` drops some.
Series synthetic(std::size_t n, std::size_t skip = 0) {
  Series series;
  for (std::size_t i = 0; series.size() < n; ++i) {
    if (skip != 0 && i % skip == 0) continue;
    const double t = 1980 + static_cast<double>(i) / 52;
    series.years.push_back(t);
    series.values.push_back(330 + 1.5 * (t - 1980) + 2 * std::sin(6.283185307 * t) +
                            0.2 * std::cos(37.0 * t));
  }
  return series;
}

// Cholesky and the solves, written out in long double without any library: what the LAPACK reference must
// agree with.
struct LongHand {
  long double log_likelihood;
  std::vector<long double> weights;  // K⁻¹ (y - m)

  LongHand(const Hyperparameters& h, const Series& series) {
    const std::size_t n = series.size();
    std::vector<std::vector<long double>> a(n, std::vector<long double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] = covariance(h, series.years[i], series.years[j]) + (i == j ? noise_variance(h) : 0.0);
      }
      weights.push_back(series.values[i] - mean_of(series.values));
    }
    long double quadratic = 0;
    long double log_determinant = 0;
    const std::vector<long double> y = weights;
    // Gauss elimination without pivoting: the pivots' product is the determinant.
    for (std::size_t k = 0; k < n; ++k) {
      log_determinant += std::log(a[k][k]);
      for (std::size_t i = k + 1; i < n; ++i) {
        const long double factor = a[i][k] / a[k][k];
        for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
        weights[i] -= factor * weights[k];
      }
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) weights[i] -= a[i][j] * weights[j];
      weights[i] /= a[i][i];
      quadratic += weights[i] * y[i];
    }
    log_likelihood = -0.5L * quadratic - 0.5L * log_determinant - 0.5L * n * std::log(2 * std::acos(-1.0L));
  }
};

TEST(Co2Model, CovarianceIsSymmetricAndLargestAtNoDistance) {
  const Series series = synthetic(40, 3);
  const Hyperparameters h = starting_point(series);
  for (const double a : series.years) {
    EXPECT_DOUBLE_EQ(covariance(h, a, a), prior_variance(h));
    for (const double b : series.years) {
      EXPECT_EQ(covariance(h, a, b), covariance(h, b, a));
      EXPECT_LE(covariance(h, a, b), prior_variance(h));
    }
  }
}

TEST(Co2Model, CovarianceFollowsItsFormulaTermByTerm) {
  Hyperparameters h = {.trend = 3,
                       .trend_years = 2,
                       .season = 0,
                       .season_smoothness = 1,
                       .season_decay_years = 1,
                       .period_years = 1,
                       .medium = 0,
                       .medium_years = 1,
                       .noise = 1};
  EXPECT_DOUBLE_EQ(covariance(h, 1, 5), 9 * std::exp(-2.0));
  h = {.trend = 0,
       .trend_years = 1,
       .season = 2,
       .season_smoothness = 0.5,
       .season_decay_years = 4,
       .period_years = 2,
       .medium = 0,
       .medium_years = 1,
       .noise = 1};
  EXPECT_DOUBLE_EQ(covariance(h, 4, 0), 4 * std::exp(-0.5));  // two whole periods away: only the decay
  EXPECT_NEAR(covariance(h, 0, 1), 4 * std::exp(-1.0 / 32 - 8), 1e-15);  // half a period away: sin² is 1
  h = {.trend = 0,
       .trend_years = 1,
       .season = 0,
       .season_smoothness = 1,
       .season_decay_years = 1,
       .period_years = 1,
       .medium = 0.5,
       .medium_years = 3,
       .noise = 1};
  EXPECT_DOUBLE_EQ(covariance(h, 0, 3), 0.25 * std::exp(-0.5));
}

TEST(Co2Model, EverySetOfTheDesignGivesADefiniteMatrix) {
  const Series series = synthetic(150, 7);
  for (const auto& h : design(starting_point(series), 24, 3)) {
    EXPECT_TRUE(std::isfinite(reference_log_likelihood(h, series)));
  }
}

TEST(Co2Model, ReferenceAgreesWithALongHandComputation) {
  const Series series = synthetic(60, 5);
  for (const auto& h : design(starting_point(series), 6, 2)) {
    const LongHand expected(h, series);
    const double tolerance = 1e-10 * std::abs(static_cast<double>(expected.log_likelihood));
    EXPECT_NEAR(reference_log_likelihood(h, series), static_cast<double>(expected.log_likelihood), tolerance);
  }
}

TEST(Co2Model, ReferencePredictsTheMeanOfTheTextbookFormula) {
  const Series series = synthetic(60, 5);
  const Hyperparameters h = starting_point(series);
  const LongHand expected(h, series);
  const auto times = forecast_times(series.years.back(), 2, 4);
  const Prediction prediction = reference_prediction(h, series, times);
  for (std::size_t k = 0; k < times.size(); ++k) {
    long double mean = mean_of(series.values);
    for (std::size_t i = 0; i < series.size(); ++i) {
      mean += covariance(h, times[k], series.years[i]) * expected.weights[i];
    }
    EXPECT_NEAR(prediction.mean[k], static_cast<double>(mean), 1e-7);
  }
}

TEST(Co2Model, UncertaintyGrowsFromTheNoiseAtDataToThePriorFarAway) {
  const Series series = synthetic(200);
  const Hyperparameters h = starting_point(series);
  const Prediction near_and_far = reference_prediction(
      h, series, {series.years[100], series.years.back() + 1, series.years.back() + 1e4});
  EXPECT_GE(near_and_far.deviation[0], h.noise);
  EXPECT_LT(near_and_far.deviation[0], 1.2 * h.noise);
  EXPECT_GT(near_and_far.deviation[1], near_and_far.deviation[0]);
  EXPECT_NEAR(near_and_far.deviation[2], std::sqrt(prior_variance(h) + noise_variance(h)), 1e-9);
  EXPECT_NEAR(near_and_far.mean[2], mean_of(series.values), 1e-9);
}

TEST(Co2Model, RoundingCannotMakeADeviationLessThanTheNoise) {
  const Hyperparameters h = starting_point(synthetic(50));
  EXPECT_DOUBLE_EQ(predictive_deviation(h, prior_variance(h) * (1 + 1e-12)), h.noise);
}

TEST(Co2Model, LogLikelihoodOfOneStandardNormalIsItsDensity) {
  EXPECT_DOUBLE_EQ(log_likelihood(1, 0, 0), std::log(1 / std::sqrt(2 * std::acos(-1.0))));
}

TEST(Co2Model, StartingPointScalesWithTheValuesAndNotWithTheirOffset) {
  Series series = synthetic(300);
  const Hyperparameters before = starting_point(series);
  for (double& value : series.values) value = 1000 * value - 5e4;
  const Hyperparameters after = starting_point(series);
  EXPECT_NEAR(after.trend, 1000 * before.trend, 1e-6 * after.trend);
  EXPECT_NEAR(after.season, 1000 * before.season, 1e-6 * after.season);
  EXPECT_NEAR(after.noise, 1000 * before.noise, 1e-6 * after.noise);
  EXPECT_EQ(after.trend_years, before.trend_years);
}

TEST(Co2Model, RefusesValuesThatAreAllEqual) {
  Series series = synthetic(20);
  for (double& value : series.values) value = 4;
  EXPECT_THROW(starting_point(series), InvalidArgument);
}

TEST(Co2Model, AnExactParabolaStillGetsSomeNoise) {
  Series series = synthetic(50);
  for (std::size_t i = 0; i < 50; ++i) series.values[i] = std::pow(series.years[i] - 1980, 2);
  const Hyperparameters h = starting_point(series);
  EXPECT_GT(h.noise, 0);
  EXPECT_TRUE(std::isfinite(reference_log_likelihood(h, series)));
}

TEST(Co2Model, DesignStartsAtItsCentreStaysInBoundsAndExtends) {
  const Hyperparameters centre = starting_point(synthetic(50));
  const auto few = design(centre, 8, 2);
  const auto many = design(centre, 64, 2);
  EXPECT_EQ(few.front().trend, centre.trend);
  EXPECT_EQ(few.front().noise, centre.noise);
  double smallest = 10;
  double largest = 0;
  for (std::size_t i = 0; i < many.size(); ++i) {
    const double factor = many[i].medium / centre.medium;
    EXPECT_GE(factor, 0.5 - 1e-12);
    EXPECT_LE(factor, 2 + 1e-12);
    smallest = std::min(smallest, factor);
    largest = std::max(largest, factor);
    EXPECT_EQ(many[i].period_years, centre.period_years);
    if (i < few.size()) {
      EXPECT_EQ(many[i].noise, few[i].noise);
    }
  }
  EXPECT_LT(smallest, 0.55);
  EXPECT_GT(largest, 1.8);
  EXPECT_THROW(design(centre, 0, 2), InvalidArgument);
  EXPECT_THROW(design(centre, 4, 0.5), InvalidArgument);
}

TEST(Co2Model, ForecastTimesEndOnWholeYears) {
  const auto times = forecast_times(2001.75, 10, 52);
  ASSERT_EQ(times.size(), 520U);
  EXPECT_GT(times.front(), 2001.75);
  EXPECT_DOUBLE_EQ(times[51], 2002.75);
  EXPECT_DOUBLE_EQ(times.back(), 2011.75);
}

}  // namespace
}  // namespace hocket::jobs::co2
