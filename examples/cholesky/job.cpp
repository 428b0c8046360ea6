// SPDX-License-Identifier: Apache-2.0
/// The job cholesky: a random matrix, its factor, and how far their product is off.
#include "job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "cholesky/cholesky.hpp"
#include "cholesky/matrix.hpp"
#include "console.hpp"

namespace hocket::jobs {
namespace {

using namespace cholesky;

constexpr std::size_t kDefaultSize = 2048;
constexpr std::size_t kDefaultTile = 256;

/// Matrices that cannot fit are refused before the system runs out of memory.
void require_memory(std::size_t n, std::size_t element_bytes) {
  const double needed =
      static_cast<double>(n) * static_cast<double>(n) *
      static_cast<double>(element_bytes + sizeof(double));  // the matrix, and the check's copy
  const double have =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > have)
    throw OutOfMemory(
        fmt::format("a matrix of order {} and the check of its factor take {}, but this machine has {}; "
                    "choose a smaller --size",
                    n, show_size(needed), show_size(have)));
}

template <class T>
Tiles<T, 2> build_matrix(Runtime& runtime, std::size_t n, std::size_t tile, std::uint64_t seed) {
  const Data<T, 2> matrix = runtime.data<T>({n, n}, {.name = "A"});
  Tiles<T, 2> tiles = matrix.tiles(tile, tile);
  for (std::size_t i = 0; i < tiles.count(0); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      runtime.submit(spd_tile<T>(), seed, n, i * tile, j * tile, tiles(i, j));
  runtime.wait();
  return tiles;
}

/// The factor as a dense matrix on the host, zero above the diagonal.
template <class T>
std::vector<double> fetch_factor(Runtime& runtime, const Tiles<T, 2>& tiles, std::size_t n,
                                 std::size_t tile) {
  std::vector<double> factor(n * n, 0.0);
  for (std::size_t ti = 0; ti < tiles.count(0); ++ti)
    for (std::size_t tj = 0; tj <= ti; ++tj) {
      const auto view = runtime.read(tiles(ti, tj));
      for (std::size_t i = 0; i < view.extent(0); ++i) {
        const std::size_t row = ti * tile + i;
        const std::size_t columns = std::min(view.extent(1), row + 1 - std::min(row + 1, tj * tile));
        for (std::size_t j = 0; j < columns; ++j)
          factor[row * n + tj * tile + j] = static_cast<double>(view(i, j));
      }
    }
  return factor;
}

class CholeskyJob final : public Job {
 public:
  std::string name() const override { return "cholesky"; }
  std::string description() const override {
    return "Tiled Cholesky factorisation of a random symmetric positive definite matrix, verified";
  }

  void add_options(CLI::App& app) override {
    app.get_option("--size")->description(fmt::format("Order of the matrix (default: {})", kDefaultSize));
    app.get_option("--tile")->description(fmt::format("Order of its tiles (default: {})", kDefaultTile));
    app.add_option("--precision", precision_, "Element type: float or double")
        ->check(CLI::IsMember({"float", "double"}))
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--seed", seed_, "Chooses the random matrix")->type_name("N")->capture_default_str();
  }

  JobResult run(Runtime& runtime, const CommonOptions& options, const Progress& progress) override {
    return precision_ == "float" ? run_typed<float>(runtime, options, progress)
                                 : run_typed<double>(runtime, options, progress);
  }

 private:
  template <class T>
  JobResult run_typed(Runtime& runtime, const CommonOptions& options, const Progress& progress) {
    const std::size_t n = options.size == 0 ? kDefaultSize : options.size;
    const std::size_t tile = std::min(n, options.tile == 0 ? kDefaultTile : options.tile);
    require_memory(n, sizeof(T));
    progress("building the matrix", 0, 1);
    const Tiles<T, 2> tiles = build_matrix<T>(runtime, n, tile, seed_);
    const std::size_t count = tiles.count(0);

    runtime.reset_report();
    const std::vector<Task> diagonal = submit_cholesky<T>(runtime, tiles);
    for (std::size_t k = 0; k < count; ++k) {
      progress("panels factored", k, count);
      diagonal[k].get();
    }
    runtime.wait();

    JobResult result;
    result.report = runtime.report();
    result.single_precision = sizeof(T) == sizeof(float);
    const double order = static_cast<double>(n);
    result.flops = order * order * order / 3;
    progress("checking the factor", 0, 1);
    const double residual = relative_residual<T>(fetch_factor(runtime, tiles, n, tile), n, seed_);
    // Rounding errors of n terms each; a wrong tile is off by many orders of magnitude. NaN fails as well.
    const double limit = (order + 8) * static_cast<double>(std::numeric_limits<T>::epsilon());
    if (!(residual <= limit))
      throw Error(fmt::format(
          "the factor is wrong: |A - L L^T| / |A| is {:.3g}, but rounding explains {:.3g} at most", residual,
          limit));

    result.lines = {
        fmt::format("matrix of order {} in {} x {} tiles of {}, {} precision", n, count, count, tile,
                    result.single_precision ? "single" : "double"),
        fmt::format("residual |A - L L^T| / |A| = {:.3g} (rounding explains up to {:.3g})", residual, limit)};
    result.fields = std::make_unique<nlohmann::ordered_json>();
    *result.fields = {
        {"size", n}, {"tile", tile}, {"precision", precision_}, {"seed", seed_}, {"residual", residual}};
    return result;
  }

  std::string precision_ = "double";
  std::uint64_t seed_ = 1;
};

}  // namespace

std::unique_ptr<Job> make_cholesky_job() { return std::make_unique<CholeskyJob>(); }

}  // namespace hocket::jobs
