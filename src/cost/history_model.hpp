// SPDX-License-Identifier: Apache-2.0
//
// An on-line history of measured task durations: for each codelet, device and footprint (a hash of the
// operands' shapes and formats), a mean and a spread that single outliers cannot wreck.
//
// How a duration enters:
//  - The first 5 are kept as they are, and the estimate is their lower median: the first run of a kernel
//    often pays for compilation, page faults and cold caches, which only ever lengthen a measurement.
//  - The fifth starts a running mean and variance (B. P. Welford, Technometrics 4(3), 1962) from those 5,
//    none above twice their median. From then on, a duration above max(2 x mean, mean + 4 x standard
//    deviation) enters as that bound. Ordinary noise stays far below it; a single outlier of any size, at
//    the n-th measurement of a steady task, shifts the mean by mean / n. Durations below the mean need no
//    bound: they cannot be more than one mean away.
//  - From 256 on, the oldest fade (weight 1/256 for the newest), so that the history follows a device that
//    becomes slower or faster for good. A run of bounded durations widens the spread, and with it the bound.
//
// Ownership: holds its entries until it is destroyed; an entry takes about 100 bytes.
// Thread-safety: all functions may be called from any thread; keys are spread over 16 locks.
// Cost: one hash lookup under an uncontended lock; a new key allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hocket/types.hpp>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace hocket::cost {

struct HistoryKey {
  std::uint64_t codelet = 0;  // the codelet's number
  DeviceId device{};
  std::uint64_t footprint = 0;  // equal for tasks that should take equally long

  bool operator==(const HistoryKey&) const = default;
};

// What the history knows of one key.
struct HistoryEstimate {
  Seconds seconds;
  double relative_stddev = 0.0;  // standard deviation / seconds; 1 while a single sample leaves it unknown
  std::uint64_t samples = 0;
};

// The statistics of one key; see the head of this file. Not thread-safe by itself.
class RobustMean {
 public:
  void observe(double seconds);
  // Requires at least one observation.
  HistoryEstimate estimate() const;

 private:
  static constexpr std::size_t kWarmUp = 5;

  // The largest duration that enters as it is.
  static double bound(double mean, double variance);
  void start_from_warm_up();
  void update(double seconds);
  double variance() const;

  std::uint64_t samples_ = 0;
  std::array<double, kWarmUp> first_{};  // ascending
  double weight_ = 0.0;                  // how many durations the mean stands for, at most kMemory
  double mean_ = 0.0;
  double squares_ = 0.0;  // sum of squared deviations from the mean, Welford's M2
};

class HistoryModel {
 public:
  HistoryModel() = default;
  HistoryModel(const HistoryModel&) = delete;
  HistoryModel& operator=(const HistoryModel&) = delete;

  // Adds a measured duration. One that is negative or not finite is no measurement: it is ignored, and false
  // returned.
  bool observe(const HistoryKey& key, Seconds duration);

  // What is expected of the next such task, or nothing if none has been measured.
  std::optional<HistoryEstimate> estimate(const HistoryKey& key) const;

 private:
  struct Hash {
    std::size_t operator()(const HistoryKey& key) const noexcept;
  };
  struct Shard {
    mutable std::mutex mutex;  // protects `entries`
    std::unordered_map<HistoryKey, RobustMean, Hash> entries;
  };
  static constexpr std::size_t kShards = 16;

  // The map uses the low bits of the hash, the choice of the shard the high ones.
  static std::size_t shard_of(const HistoryKey& key) noexcept;

  std::array<Shard, kShards> shards_;
};

}  // namespace hocket::cost
