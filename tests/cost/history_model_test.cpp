// SPDX-License-Identifier: Apache-2.0
#include "cost/history_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace hocket::cost {
namespace {

constexpr HistoryKey kKey{1, DeviceId{2}, 3};

HistoryEstimate after(const std::vector<double>& durations) {
  HistoryModel model;
  for (const double seconds : durations) model.observe(kKey, Seconds{seconds});
  return model.estimate(kKey).value();
}

TEST(HistoryModel, KnowsNothingBeforeTheFirstMeasurement) {
  const HistoryModel model;
  EXPECT_FALSE(model.estimate(kKey).has_value());
}

TEST(HistoryModel, RepeatsASingleMeasurementAndAdmitsThatItsSpreadIsUnknown) {
  const HistoryEstimate estimate = after({0.25});
  EXPECT_EQ(estimate.seconds.count, 0.25);
  EXPECT_EQ(estimate.relative_stddev, 1.0);
  EXPECT_EQ(estimate.samples, 1U);
}

TEST(HistoryModel, GivesTheMeanAndStandardDeviationOfOrdinaryMeasurements) {
  // Two values, equally often: mean 3, population deviation 1.
  std::vector<double> durations;
  for (int i = 0; i < 50; ++i) durations.insert(durations.end(), {2.0, 4.0});
  const HistoryEstimate estimate = after(durations);
  EXPECT_NEAR(estimate.seconds.count, 3.0, 1e-12);
  EXPECT_NEAR(estimate.relative_stddev, std::sqrt(100.0 / 99.0) / 3.0, 1e-12);
  EXPECT_EQ(estimate.samples, 100U);
}

TEST(HistoryModel, KeepsCodeletsDevicesAndFootprintsApart) {
  HistoryModel model;
  model.observe({1, DeviceId{1}, 1}, Seconds{1.0});
  model.observe({2, DeviceId{1}, 1}, Seconds{2.0});
  model.observe({1, DeviceId{2}, 1}, Seconds{3.0});
  model.observe({1, DeviceId{1}, 2}, Seconds{4.0});
  EXPECT_EQ(model.estimate({1, DeviceId{1}, 1})->seconds.count, 1.0);
  EXPECT_EQ(model.estimate({2, DeviceId{1}, 1})->seconds.count, 2.0);
  EXPECT_EQ(model.estimate({1, DeviceId{2}, 1})->seconds.count, 3.0);
  EXPECT_EQ(model.estimate({1, DeviceId{1}, 2})->seconds.count, 4.0);
  EXPECT_FALSE(model.estimate({2, DeviceId{2}, 2}).has_value());
}

TEST(HistoryModel, SurvivesOneOutlierAtAnyPlaceAfterTheSecondMeasurement) {
  for (std::size_t count = 3; count <= 60; ++count) {
    for (std::size_t place = 0; place < count; ++place) {
      std::vector<double> durations(count, 1.0);
      durations[place] = 500.0;
      EXPECT_LE(after(durations).seconds.count, 1.2) << "measurement " << place << " of " << count;
    }
  }
}

TEST(HistoryModel, DoesNotLetOneOutlierIntoTheSpreadOfASteadyTask) {
  std::vector<double> durations(100, 1.0);
  durations[40] = 500.0;
  const HistoryEstimate estimate = after(durations);
  EXPECT_NEAR(estimate.seconds.count, 1.0, 0.011);
  EXPECT_LT(estimate.relative_stddev, 0.11);
}

TEST(HistoryModel, BelievesTheShorterOfTwoMeasurements) { EXPECT_EQ(after({500.0, 1.0}).seconds.count, 1.0); }

TEST(HistoryModel, EstimatesNoisyMeasurementsWithoutBias) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(1.0, 0.1);
  std::vector<double> durations(2000);
  for (double& seconds : durations) seconds = noise(random);
  const HistoryEstimate estimate = after(durations);
  EXPECT_NEAR(estimate.seconds.count, 1.0, 0.03);
  EXPECT_NEAR(estimate.relative_stddev, 0.1, 0.02);
}

TEST(HistoryModel, FollowsADeviceThatBecomesSlowerOrFasterForGood) {
  std::vector<double> durations(1000, 1.0);
  durations.insert(durations.end(), 3000, 10.0);
  EXPECT_NEAR(after(durations).seconds.count, 10.0, 0.1);
  durations.insert(durations.end(), 3000, 1.0);
  EXPECT_NEAR(after(durations).seconds.count, 1.0, 0.1);
}

TEST(HistoryModel, RecoversFromMeasurementsOfZero) {
  std::vector<double> durations(20, 0.0);
  EXPECT_EQ(after(durations).seconds.count, 0.0);
  EXPECT_EQ(after(durations).relative_stddev, 0.0);
  durations.insert(durations.end(), 2000, 1.0);
  EXPECT_NEAR(after(durations).seconds.count, 1.0, 0.01);
}

TEST(HistoryModel, IgnoresWhatCannotBeADuration) {
  HistoryModel model;
  EXPECT_FALSE(model.observe(kKey, Seconds{-1.0}));
  EXPECT_FALSE(model.observe(kKey, Seconds{std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_FALSE(model.observe(kKey, Seconds{std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(model.estimate(kKey).has_value());
  EXPECT_TRUE(model.observe(kKey, Seconds{1.0}));
}

TEST(HistoryModel, CountsEachMeasurementOfSeveralThreads) {
  HistoryModel model;
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kKeys = 40;
  constexpr std::uint64_t kRounds = 50;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&model] {
      for (std::uint64_t i = 0; i < kKeys * kRounds; ++i) {
        const HistoryKey key{i % kKeys, DeviceId{0}, 0};
        model.observe(key, Seconds{1.0 + static_cast<double>(i % kKeys)});
        EXPECT_TRUE(model.estimate(key).has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t codelet = 0; codelet < kKeys; ++codelet) {
    const auto estimate = model.estimate({codelet, DeviceId{0}, 0});
    ASSERT_TRUE(estimate.has_value());
    EXPECT_EQ(estimate->samples, kThreads * kRounds);
    EXPECT_DOUBLE_EQ(estimate->seconds.count, 1.0 + static_cast<double>(codelet));
  }
}

}  // namespace
}  // namespace hocket::cost
