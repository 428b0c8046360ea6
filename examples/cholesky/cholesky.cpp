// SPDX-License-Identifier: Apache-2.0
#include "cholesky/cholesky.hpp"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "cholesky/matrix.hpp"

namespace hocket::jobs::cholesky {

using kernels::Solve;
using kernels::Transpose;

template <kernels::Real T>
std::vector<Task> submit_cholesky(Submitter& submitter, const Tiles<T, 2>& tiles) {
  const std::size_t count = tiles.count(0);
  // The sooner a panel is due, the more urgent is what it waits for. Within a panel: its diagonal tile, the
  // tiles below, then what updates them.
  const auto priority = [count](std::size_t panel, int step) {
    return 3 * static_cast<int>(count - panel) + step;
  };
  std::vector<Task> diagonal;
  for (std::size_t k = 0; k < count; ++k) {
    diagonal.push_back(submitter.submit({.priority = priority(k, 2)}, kernels::potrf<T>(), tiles(k, k)));
    for (std::size_t i = k + 1; i < count; ++i)
      submitter.submit({.priority = priority(k, 1)}, kernels::trsm<T>(), Solve::RightTransposed, tiles(k, k),
                       tiles(i, k));
    for (std::size_t i = k + 1; i < count; ++i) {
      submitter.submit({.priority = priority(i, 2)}, kernels::syrk<T>(), T{-1}, tiles(i, k), T{1},
                       tiles(i, i));
      for (std::size_t j = k + 1; j < i; ++j)
        submitter.submit({.priority = priority(j, 0)}, kernels::gemm<T>(), Transpose::No, Transpose::Yes,
                         T{-1}, tiles(i, k), tiles(j, k), T{1}, tiles(i, j));
    }
  }
  return diagonal;
}

template <kernels::Real T>
double relative_residual(const std::vector<double>& factor, std::size_t n, std::uint64_t seed) {
  constexpr std::size_t kRows = 128;
  openblas_set_num_threads(1);
  const std::size_t blocks = (n + kRows - 1) / kRows;
  struct Sums {
    double difference = 0.0;
    double matrix = 0.0;
  };
  std::vector<Sums> sums(blocks);
  // The last blocks are the longest: they come first. Each thread takes the next one that is left.
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t at = next.fetch_add(1); at < blocks; at = next.fetch_add(1)) {
      const std::size_t block = blocks - 1 - at;
      const std::size_t first = block * kRows;
      const std::size_t rows = std::min(kRows, n - first);
      const std::size_t columns = first + rows;
      std::vector<double> a(rows * columns);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
          const auto entry = static_cast<double>(spd_entry<T>(seed, n, first + i, j));
          a[i * columns + j] = entry;
          // What lies above the diagonal is the mirror of what lies below.
          const double weight = j < first + i ? 2.0 : j == first + i ? 1.0 : 0.0;
          sums[block].matrix += weight * entry * entry;
        }
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows), static_cast<int>(columns),
                  static_cast<int>(columns), -1.0, factor.data() + first * n, static_cast<int>(n),
                  factor.data(), static_cast<int>(n), 1.0, a.data(), static_cast<int>(columns));
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j <= first + i; ++j) {
          const double difference = a[i * columns + j];
          sums[block].difference += (j < first + i ? 2.0 : 1.0) * difference * difference;
        }
    }
  };
  {
    std::vector<std::jthread> team;
    for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i) team.emplace_back(work);
    work();
  }
  Sums total;
  for (const Sums& part : sums) {
    total.difference += part.difference;
    total.matrix += part.matrix;
  }
  return std::sqrt(total.difference / total.matrix);
}

template std::vector<Task> submit_cholesky<float>(Submitter&, const Tiles<float, 2>&);
template std::vector<Task> submit_cholesky<double>(Submitter&, const Tiles<double, 2>&);
template double relative_residual<float>(const std::vector<double>&, std::size_t, std::uint64_t);
template double relative_residual<double>(const std::vector<double>&, std::size_t, std::uint64_t);

}  // namespace hocket::jobs::cholesky
