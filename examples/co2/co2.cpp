// SPDX-License-Identifier: Apache-2.0
#include "co2/co2.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <hocket/kernels.hpp>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace hocket::jobs::co2 {
namespace {

using kernels::Solve;
using kernels::Transpose;

/// The first round draws factors between 1/3 and 3; each later round's spread is that power of the one
/// before.
constexpr double kSpread = 3.0;
constexpr double kNarrowing = 0.6;

kernels::Covariance<double> covariance_of(const Hyperparameters& h, double noise) {
  kernels::Covariance<double> c;
  c.trend = h.trend;
  c.trend_years = h.trend_years;
  c.season = h.season;
  c.season_smoothness = h.season_smoothness;
  c.season_decay_years = h.season_decay_years;
  c.period_years = h.period_years;
  c.medium = h.medium;
  c.medium_years = h.medium_years;
  c.noise = noise;
  return c;
}

/// Whether a failure comes from a matrix that cannot be factored, wherever in the chain of causes it stands.
bool is_not_positive_definite(const std::exception_ptr& failure) {
  if (failure == nullptr) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const kernels::NotPositiveDefinite&) {
    return true;
  } catch (const TaskError& error) {
    return is_not_positive_definite(error.cause());
  } catch (const std::exception& error) {
    const auto* const nested = dynamic_cast<const std::nested_exception*>(&error);
    return nested != nullptr && is_not_positive_definite(nested->nested_ptr());
  } catch (...) {
    return false;
  }
}

}  // namespace

/// One set of hyperparameters on its way. Its data are the runtime's but for the times of a prediction, whose
/// handle waits for the tasks that read them: an evaluation may be dropped at any time.
class Regression::Evaluation {
 public:
  /// Records the graph and runs it; `urgency` ranks the tasks of this evaluation above those of others.
  Evaluation(Regression& of, const Hyperparameters& h, int urgency,
             const std::vector<double>& prediction_times = {})
      : of_(of),
        h_(h),
        first_priority_(1 + urgency * kKinds * static_cast<int>(of.tiles() + 1)),
        prediction_times_(prediction_times),
        whitened_(centred_observations(of)),
        graph_(of.runtime_.record([&](Graph& graph) { record(graph); })),
        run_(of.runtime_.run(graph_)) {}

  /// Waits for the graph. -infinity where the matrix is not positive definite.
  double log_likelihood() {
    try {
      run_.get();
      double half_log_determinant = 0;
      for (std::size_t k = 0; k < of_.tiles(); ++k) {
        const auto factor = of_.runtime_.read(lower_[k][k]);
        for (std::size_t i = 0; i < factor.extent(0); ++i) half_log_determinant += std::log(factor(i, i));
      }
      double squared_norm = 0;
      const auto whitened = of_.runtime_.read(whitened_);
      for (std::size_t i = 0; i < whitened.extent(0); ++i) squared_norm += whitened(i, 0) * whitened(i, 0);
      const double result = co2::log_likelihood(of_.rows(), squared_norm, half_log_determinant);
      // Kernels that cannot fail leave NaN in a factor that does not exist.
      return std::isnan(result) ? -std::numeric_limits<double>::infinity() : result;
    } catch (const TaskError&) {
      if (is_not_positive_definite(std::current_exception())) return -std::numeric_limits<double>::infinity();
      throw;
    }
  }

  Prediction prediction() {
    run_.get();
    const std::size_t count = prediction_times_.size();
    std::vector<double> mean(count, of_.mean_);
    std::vector<double> explained(count, 0.0);
    const auto whitened = of_.runtime_.read(whitened_);
    std::size_t first_column = 0;
    for (const std::vector<Matrix>& block : cross_) {
      for (std::size_t i = 0; i < block.size(); ++i) {
        const auto tile = of_.runtime_.read(block[i]);
        for (std::size_t row = 0; row < tile.extent(0); ++row) {
          const double y = whitened(i * of_.tile_ + row, 0);
          for (std::size_t column = 0; column < tile.extent(1); ++column) {
            const double v = tile(row, column);
            mean[first_column + column] += v * y;
            explained[first_column + column] += v * v;
          }
        }
      }
      first_column += block.front().extent(1);
    }
    Prediction result{prediction_times_, std::move(mean), {}};
    for (const double share : explained) result.deviation.push_back(predictive_deviation(h_, share));
    return result;
  }

 private:
  using Matrix = Data<double, 2>;

  static Matrix centred_observations(Regression& of) {
    Matrix y = of.runtime_.data<double>({of.rows(), 1}, {.name = "y"});
    const auto view = of.runtime_.write(y);
    for (std::size_t i = 0; i < of.rows(); ++i) view(i, 0) = of.centred_[i];
    return y;
  }

  /// Ranks of the kinds of tasks that work on one column of tiles.
  enum Kind : int { kUpdate, kDiagonalUpdate, kSolve, kFactor, kKinds };

  /// Columns are finished from left to right; within one, what more tasks wait for comes first.
  TaskOptions options(const char* what, Kind kind, std::size_t column, std::size_t row) const {
    TaskOptions options;
    options.name = fmt::format("{} {},{}", what, row, column);
    options.priority = first_priority_ + kKinds * static_cast<int>(of_.tiles() - column) + kind;
    return options;
  }

  void record(Graph& graph) {
    build(graph);
    factor(graph);
    std::vector<Matrix> observations;
    for (const Matrix& part : whitened_.tiles(of_.tile_, 1)) observations.push_back(part);
    substitute(graph, observations);
    if (!prediction_times_.empty()) predict(graph);
  }

  void build(Graph& graph) {
    const auto covariance = covariance_of(h_, h_.noise);
    lower_.resize(of_.tiles());
    for (std::size_t j = 0; j < of_.tiles(); ++j) {
      for (std::size_t i = j; i < of_.tiles(); ++i) {
        // Filled column by column, so that each row's tiles come in the order of their columns.
        lower_[i].push_back(of_.runtime_.data<double>({of_.extent(i), of_.extent(j)},
                                                      {.name = fmt::format("K({},{})", i, j)}));
        graph.submit(options("covariance", kUpdate, j, i), kernels::covariance_tile<double>(), covariance,
                     i * of_.tile_, j * of_.tile_, of_.row_times_[i], of_.row_times_[j], lower_[i][j]);
      }
    }
  }

  /// Right-looking tiled Cholesky: L overwrites the lower tiles.
  void factor(Graph& graph) {
    for (std::size_t k = 0; k < of_.tiles(); ++k) {
      graph.submit(options("potrf", kFactor, k, k), kernels::potrf<double>(), lower_[k][k]);
      for (std::size_t i = k + 1; i < of_.tiles(); ++i) {
        graph.submit(options("trsm", kSolve, k, i), kernels::trsm<double>(), Solve::RightTransposed,
                     lower_[k][k], lower_[i][k]);
      }
      for (std::size_t j = k + 1; j < of_.tiles(); ++j) {
        graph.submit(options("syrk", kDiagonalUpdate, j, j), kernels::syrk<double>(), -1.0, lower_[j][k], 1.0,
                     lower_[j][j]);
        for (std::size_t i = j + 1; i < of_.tiles(); ++i) {
          graph.submit(options("gemm", kUpdate, j, i), kernels::gemm<double>(), Transpose::No, Transpose::Yes,
                       -1.0, lower_[i][k], lower_[j][k], 1.0, lower_[i][j]);
        }
      }
    }
  }

  /// B := L⁻¹ B for a block of columns B, cut like the rows of L.
  void substitute(Graph& graph, const std::vector<Matrix>& b) {
    for (std::size_t k = 0; k < of_.tiles(); ++k) {
      graph.submit(options("solve", kSolve, k, k), kernels::trsm<double>(), Solve::Left, lower_[k][k], b[k]);
      for (std::size_t i = k + 1; i < of_.tiles(); ++i) {
        graph.submit(options("update", kUpdate, k, i), kernels::gemm<double>(), Transpose::No, Transpose::No,
                     -1.0, lower_[i][k], b[k], 1.0, b[i]);
      }
    }
  }

  /// The whitened cross-covariances L⁻¹ K*, in blocks of columns.
  void predict(Graph& graph) {
    const auto covariance = covariance_of(h_, 0.0);
    const std::size_t count = prediction_times_.size();
    times_data_ = of_.runtime_.data(std::span<const double>(prediction_times_), {.name = "prediction times"});
    for (std::size_t first = 0; first < count; first += of_.tile_) {
      const std::size_t width = std::min(of_.tile_, count - first);
      const Data<const double> columns = times_data_.block({first}, {width});
      std::vector<Matrix>& block = cross_.emplace_back();
      for (std::size_t i = 0; i < of_.tiles(); ++i) {
        block.push_back(of_.runtime_.data<double>({of_.extent(i), width},
                                                  {.name = fmt::format("K*({},{})", i, cross_.size() - 1)}));
        graph.submit(options("covariance*", kUpdate, i, i), kernels::covariance_tile<double>(), covariance,
                     i * of_.tile_, 0, of_.row_times_[i], columns, block.back());
      }
      substitute(graph, block);
    }
  }

  Regression& of_;
  Hyperparameters h_;
  int first_priority_;
  std::vector<double> prediction_times_;
  Matrix whitened_;  ///< The centred observations y, one column, which the graph turns into L⁻¹ y.
  Data<const double> times_data_;
  std::vector<std::vector<Matrix>> lower_;  ///< Row by row; becomes L.
  std::vector<std::vector<Matrix>> cross_;  ///< Block of columns by block; becomes L⁻¹ K*.
  Graph graph_;
  Task run_;
};

Regression::Regression(Runtime& runtime, const Series& series, const RegressionOptions& options)
    : runtime_(runtime), series_(series), tile_(options.tile), in_flight_(options.in_flight) {
  if (tile_ == 0) throw InvalidArgument("a tile has at least one row: give a tile size of 1 or more");
  if (in_flight_ == 0) throw InvalidArgument("at least one evaluation must be in flight, not 0");
  if (series.size() == 0) throw InvalidArgument("the series " + series.source + " has no observations");
  tile_ = std::min(tile_, rows());
  if ((rows() + tile_ - 1) / tile_ > kMostTiles) {
    throw InvalidArgument(fmt::format(
        "tiles of {} cut a matrix of {} rows into more than {} a side; give a tile size of at least {}",
        tile_, rows(), kMostTiles, (rows() + kMostTiles - 1) / kMostTiles));
  }
  mean_ = mean_of(series.values);
  for (const double value : series.values) centred_.push_back(value - mean_);
  times_ = runtime.data(std::span<const double>(series.years), {.name = "times"});
  for (const auto& part : times_.tiles(tile_)) row_times_.push_back(part);

  const std::uint64_t affordable = options.memory.count / matrix_bytes().count;
  if (affordable == 0) {
    throw InvalidArgument(
        fmt::format("a covariance matrix of {} observations takes {} MiB, more than the limit of {} MiB; "
                    "raise the limit or "
                    "keep fewer observations",
                    rows(), matrix_bytes().count / kMiB.count + 1, options.memory.count / kMiB.count));
  }
  in_flight_ = static_cast<std::size_t>(std::min<std::uint64_t>(in_flight_, affordable));
}

std::size_t Regression::extent(std::size_t tile) const noexcept {
  return std::min(tile_, rows() - tile * tile_);
}

Bytes Regression::matrix_bytes() const noexcept {
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < tiles(); ++i) elements += extent(i) * std::min((i + 1) * tile_, rows());
  return Bytes{elements * sizeof(double)};
}

std::vector<double> Regression::log_likelihoods(std::span<const Hyperparameters> sets,
                                                const std::function<void(std::size_t, double)>& on_done) {
  std::vector<double> results;
  std::deque<std::unique_ptr<Evaluation>> running;
  std::size_t started = 0;
  while (results.size() < sets.size()) {
    while (started < sets.size() && running.size() < in_flight_) {
      // The oldest goes first, the others fill the gaps it leaves. Ranks repeat once their holder is over.
      const int urgency = static_cast<int>((sets.size() - started) % 4096);
      running.push_back(std::make_unique<Evaluation>(*this, sets[started++], urgency));
    }
    results.push_back(running.front()->log_likelihood());
    running.pop_front();
    if (on_done) on_done(results.size() - 1, results.back());
  }
  return results;
}

Prediction Regression::predict(const Hyperparameters& hyperparameters, const std::vector<double>& times) {
  if (times.empty()) return {};
  return Evaluation(*this, hyperparameters, 0, times).prediction();
}

SearchResult search(Regression& regression, const Hyperparameters& start, const SearchOptions& options,
                    const std::function<void(std::size_t)>& on_done) {
  if (options.rounds == 0 || options.evaluations < options.rounds) {
    throw InvalidArgument(
        fmt::format("{} evaluations cannot be spread over {} rounds: each needs at least one",
                    options.evaluations, options.rounds));
  }
  SearchResult result;
  result.best = start;
  result.log_likelihood = -std::numeric_limits<double>::infinity();
  double spread = kSpread;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const std::size_t remaining = options.evaluations - result.evaluations;
    const std::size_t count = (remaining + options.rounds - round - 1) / (options.rounds - round);
    std::vector<Hyperparameters> sets;
    if (round == 0) {
      sets = design(start, count, spread);
    } else {  // without the centre, which the round before has evaluated
      sets = design(result.best, count + 1, spread);
      sets.erase(sets.begin());
    }
    const std::vector<double> values = regression.log_likelihoods(sets, [&](std::size_t, double) {
      ++result.evaluations;
      if (on_done) on_done(result.evaluations);
    });
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isinf(values[i])) ++result.indefinite;
      if (values[i] > result.log_likelihood) {
        result.log_likelihood = values[i];
        result.best = sets[i];
      }
    }
    spread = std::pow(spread, kNarrowing);
  }
  if (std::isinf(result.log_likelihood)) {
    throw Error(fmt::format(
        "none of {} sets of hyperparameters gives a covariance matrix that is positive definite in double "
        "precision; keep fewer observations or leave out those that are almost at the same time",
        result.evaluations));
  }
  return result;
}

}  // namespace hocket::jobs::co2
