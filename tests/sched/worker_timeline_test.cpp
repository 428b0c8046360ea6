// SPDX-License-Identifier: Apache-2.0
#include "sched/worker_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace hocket::sched {
namespace {

TEST(WorkerTimeline, StartsWhenReadyIfNothingIsReserved) {
  const WorkerTimeline timeline;
  EXPECT_EQ(timeline.earliest_start(3.0, 2.0), 3.0);
}

TEST(WorkerTimeline, UsesTheFirstGapThatIsLongEnough) {
  WorkerTimeline timeline;
  timeline.reserve(0.0, 1.0);
  timeline.reserve(3.0, 1.0);
  timeline.reserve(9.0, 1.0);
  EXPECT_EQ(timeline.earliest_start(0.0, 2.0), 1.0);
  EXPECT_EQ(timeline.earliest_start(0.0, 3.0), 4.0);
  EXPECT_EQ(timeline.earliest_start(2.0, 2.0), 4.0);
  EXPECT_EQ(timeline.earliest_start(0.0, 6.0), 10.0);
  EXPECT_EQ(timeline.earliest_start(20.0, 6.0), 20.0);
}

TEST(WorkerTimeline, FillsAGapWhoseLengthMatchesButForRounding) {
  WorkerTimeline timeline;
  timeline.reserve(0.0, 0.1);
  timeline.reserve(0.3, 1.0);  // 0.1 + 0.2 > 0.3 in binary
  EXPECT_EQ(timeline.earliest_start(0.0, 0.2), 0.1);
  timeline.reserve(0.1, 0.2);
  EXPECT_EQ(timeline.earliest_start(0.0, 0.01), 1.3);
}

TEST(WorkerTimeline, LetsTasksOfZeroLengthStartWhenReady) {
  WorkerTimeline timeline;
  timeline.reserve(0.0, 10.0);
  EXPECT_EQ(timeline.earliest_start(5.0, 0.0), 5.0);
  timeline.reserve(5.0, 0.0);
  EXPECT_EQ(timeline.earliest_start(0.0, 1.0), 10.0);
}

// All busy stretches in a plain list, searched from the front.
class PlainTimeline {
 public:
  double earliest_start(double ready, double duration) const {
    double start = ready;
    for (const auto& [busy_start, busy_end] : busy_) {
      if (start + duration <= busy_start) return start;
      start = std::max(start, busy_end);
    }
    return start;
  }
  void reserve(double start, double duration) {
    busy_.emplace_back(start, start + duration);
    std::sort(busy_.begin(), busy_.end());
  }

 private:
  std::vector<std::pair<double, double>> busy_;
};

TEST(WorkerTimeline, AgreesWithAPlainSearchOverThousandsOfGaps) {
  std::mt19937_64 random(7);
  for (const std::uint64_t spread : {50U, 2000U, 200000U}) {
    WorkerTimeline timeline;
    PlainTimeline plain;
    for (int i = 0; i < 3000; ++i) {
      const auto ready = static_cast<double>(random() % spread);
      const auto duration = static_cast<double>(1 + random() % 40);
      const double start = plain.earliest_start(ready, duration);
      ASSERT_EQ(timeline.earliest_start(ready, duration), start) << "spread " << spread << ", step " << i;
      timeline.reserve(start, duration);
      plain.reserve(start, duration);
    }
  }
}

}  // namespace
}  // namespace hocket::sched
