// SPDX-License-Identifier: Apache-2.0
/// Gaussian-process regression on a runtime: the covariance matrix of the observations is built by tiles,
/// factored by tiled Cholesky and used to whiten the observations, which gives the log-likelihood of one set
/// of hyperparameters. Each set is one recorded graph; several are in flight at once, so that one graph's
/// narrow end overlaps with the next one's broad middle. Only bundled codelets are used: any mix of devices
/// will do.
///
/// Only the lower tiles exist, each a datum of its own: a set in flight holds about 4 n² bytes (8 bytes for
/// each element of the lower half). Costs n³/3 + 25 n² flops a set.
#pragma once

#include <cstddef>
#include <functional>
#include <hocket/hocket.hpp>
#include <span>
#include <vector>

#include "co2/model.hpp"

namespace hocket::jobs::co2 {

struct RegressionOptions {
  std::size_t tile = 256;     ///< Rows and columns of a tile.
  std::size_t in_flight = 3;  ///< Sets of hyperparameters evaluated at once, as far as `memory` allows.
  Bytes memory = kGiB * 2;    ///< What the matrices in flight may take together.
};

/// The most tiles along a side of the matrix: the number of tasks grows with its cube.
inline constexpr std::size_t kMostTiles = 256;

/// Refers to the runtime and the series, which must outlive it. For one thread at a time.
class Regression {
 public:
  /// Throws `InvalidArgument` for options that make no sense together with this series: a tile or number in
  /// flight of 0, more than `kMostTiles` tiles a side, a matrix that alone is larger than `memory`.
  Regression(Runtime& runtime, const Series& series, const RegressionOptions& options);

  /// Sets that are in flight at once: `in_flight`, or fewer where more would not fit into `memory`.
  std::size_t in_flight() const noexcept { return in_flight_; }
  /// What one set in flight takes.
  Bytes matrix_bytes() const noexcept;

  /// The log-likelihood of each set; -infinity where its covariance matrix is not positive definite in double
  /// precision. `on_done` is called after each, in order, with its place and value. Throws `TaskError` where
  /// anything else fails, and what `on_done` throws.
  std::vector<double> log_likelihoods(std::span<const Hyperparameters> sets,
                                      const std::function<void(std::size_t, double)>& on_done = {});

  /// Predictions at these times; one more matrix, and n m elements for m times. Throws `TaskError`.
  Prediction predict(const Hyperparameters& hyperparameters, const std::vector<double>& times);

 private:
  class Evaluation;

  std::size_t rows() const noexcept { return series_.size(); }
  std::size_t tiles() const noexcept { return row_times_.size(); }
  /// Elements of a tile along either dimension.
  std::size_t extent(std::size_t tile) const noexcept;

  Runtime& runtime_;
  const Series& series_;
  std::size_t tile_;
  std::size_t in_flight_;
  double mean_;
  std::vector<double> centred_;  ///< The values less their mean.
  Data<const double> times_;
  std::vector<Data<const double>> row_times_;  ///< Of each row of tiles.
};

struct SearchOptions {
  std::size_t evaluations = 24;  ///< In all rounds together.
  std::size_t rounds = 2;        ///< Each but the first searches nearer around the best so far.
};

struct SearchResult {
  Hyperparameters best;
  double log_likelihood = 0;
  std::size_t evaluations = 0;
  std::size_t indefinite = 0;  ///< Sets whose matrix was not positive definite.
};

/// Looks for the hyperparameters of the highest likelihood around `start`. Deterministic up to rounding.
/// Throws `InvalidArgument` unless 1 <= rounds <= evaluations, and `Error` where no set has a positive
/// definite matrix. `on_done` is told after each evaluation how many are over.
SearchResult search(Regression& regression, const Hyperparameters& start, const SearchOptions& options,
                    const std::function<void(std::size_t)>& on_done = {});

}  // namespace hocket::jobs::co2
