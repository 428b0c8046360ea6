// SPDX-License-Identifier: Apache-2.0
#include "cost/history_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hocket::cost {
namespace {

constexpr double kMemory = 256.0;
constexpr double kLargestRatio = 2.0;
constexpr double kLargestDeviations = 4.0;

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): each input bit reaches each output bit.
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

void RobustMean::observe(double seconds) {
  if (samples_ >= kWarmUp) {
    update(std::min(seconds, bound(mean_, variance())));
    ++samples_;
    return;
  }
  const auto end = first_.begin() + static_cast<std::ptrdiff_t>(samples_);
  const auto place = std::upper_bound(first_.begin(), end, seconds);
  std::move_backward(place, end, end + 1);
  *place = seconds;
  ++samples_;
  if (samples_ == kWarmUp) start_from_warm_up();
}

HistoryEstimate RobustMean::estimate() const {
  if (samples_ == 1) return {{first_[0]}, 1.0, 1};
  double seconds = mean_;
  double deviation = std::sqrt(variance());
  if (samples_ < kWarmUp) {
    // Too few for a standard deviation that one outlier would not ruin: half the distance from the shortest
    // to the upper median stands in for it, and ignores what is longer.
    seconds = first_[(samples_ - 1) / 2];
    deviation = (first_[samples_ / 2] - first_[0]) / 2.0;
  }
  return {{seconds}, seconds > 0.0 ? deviation / seconds : 0.0, samples_};
}

double RobustMean::bound(double mean, double variance) {
  // A mean of zero (a clock too coarse for the task) is no scale to measure outliers by.
  if (mean == 0.0) return std::numeric_limits<double>::infinity();
  return std::max(kLargestRatio * mean, mean + kLargestDeviations * std::sqrt(variance));
}

void RobustMean::start_from_warm_up() {
  // The median takes the place of the mean that does not exist yet.
  const double median = first_[kWarmUp / 2];
  for (const double seconds : first_) update(std::min(seconds, bound(median, 0.0)));
}

// Welford's update. Past kMemory durations, the weight of the old ones shrinks by one before the new one
// enters.
void RobustMean::update(double seconds) {
  if (weight_ >= kMemory) {
    squares_ *= (kMemory - 1.0) / weight_;
    weight_ = kMemory - 1.0;
  }
  weight_ += 1.0;
  const double deviation = seconds - mean_;
  mean_ += deviation / weight_;
  squares_ += deviation * (seconds - mean_);
}

double RobustMean::variance() const { return weight_ > 1.0 ? squares_ / (weight_ - 1.0) : 0.0; }

std::size_t HistoryModel::Hash::operator()(const HistoryKey& key) const noexcept {
  return static_cast<std::size_t>(mix(mix(mix(key.codelet) ^ index(key.device)) ^ key.footprint));
}

std::size_t HistoryModel::shard_of(const HistoryKey& key) noexcept { return (Hash{}(key) >> 40) % kShards; }

bool HistoryModel::observe(const HistoryKey& key, Seconds duration) {
  if (!std::isfinite(duration.count) || duration.count < 0.0) return false;
  Shard& shard = shards_[shard_of(key)];
  const std::lock_guard lock(shard.mutex);
  shard.entries[key].observe(duration.count);
  return true;
}

std::optional<HistoryEstimate> HistoryModel::estimate(const HistoryKey& key) const {
  const Shard& shard = shards_[shard_of(key)];
  const std::lock_guard lock(shard.mutex);
  const auto entry = shard.entries.find(key);
  if (entry == shard.entries.end()) return std::nullopt;
  return entry->second.estimate();
}

}  // namespace hocket::cost
