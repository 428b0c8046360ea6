// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& rows, const Shape& columns, const Shape& k) {
  require(rows.extent[0] == k.extent[0] && columns.extent[0] == k.extent[1], "covariance_tile",
          "k must have a row for each element of rows and a column for each of columns",
          NamedShape{"rows", rows}, NamedShape{"columns", columns}, NamedShape{"k", k});
}

/// The covariance of two times `distance` apart, without the noise.
template <class T>
T covariance_at(const Covariance<T>& c, T distance) {
  constexpr T kPi = static_cast<T>(3.14159265358979323846);
  const T in_trend = distance / c.trend_years;
  const T in_decay = distance / c.season_decay_years;
  const T in_medium = distance / c.medium_years;
  const T phase = std::sin(kPi * distance / c.period_years) / c.season_smoothness;
  const T half = static_cast<T>(0.5);
  return c.trend * c.trend * std::exp(-half * in_trend * in_trend) +
         c.season * c.season * std::exp(-half * in_decay * in_decay - 2 * phase * phase) +
         c.medium * c.medium * std::exp(-half * in_medium * in_medium);
}

template <class T>
void covariance_tile_cpu(Covariance<T> covariance, std::uint64_t first_row, std::uint64_t first_column,
                         View<const T> rows, View<const T> columns, Out<T, 2> k) {
  check_shapes(shape_of(rows), shape_of(columns), shape_of(k));
  const T noise = covariance.noise * covariance.noise;
  for (std::size_t i = 0; i < k.extent(0); ++i) {
    for (std::size_t j = 0; j < k.extent(1); ++j) {
      k(i, j) = covariance_at(covariance, rows[i] - columns[j]) +
                (first_row + i == first_column + j ? noise : T{0});
    }
  }
}

constexpr const char* kSource = R"(
typedef struct {
  real trend, trend_years, season, season_smoothness, season_decay_years, period_years, medium, medium_years, noise;
} covariance_t;

__kernel void covariance_tile(const covariance_t c, const ulong first_row, const ulong first_column,
                              __global const real* rows, const ulong row_count, __global const real* columns,
                              const ulong column_count, __global real* k, const ulong m, const ulong n) {
  const size_t j = get_global_id(0);
  const size_t i = get_global_id(1);
  if (i >= m || j >= n) return;
  const real distance = rows[i] - columns[j];
  const real in_trend = distance / c.trend_years;
  const real in_decay = distance / c.season_decay_years;
  const real in_medium = distance / c.medium_years;
  const real phase = sin((real)3.14159265358979323846 * distance / c.period_years) / c.season_smoothness;
  const real half_of = (real)0.5;
  k[i * n + j] = c.trend * c.trend * exp(-half_of * in_trend * in_trend) +
                 c.season * c.season * exp(-half_of * in_decay * in_decay - 2 * phase * phase) +
                 c.medium * c.medium * exp(-half_of * in_medium * in_medium) +
                 (first_row + i == first_column + j ? c.noise * c.noise : 0);
}
)";

NdRange covariance_tile_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[3]), shape_of(arguments[4]), shape_of(arguments[5]));
  const Shape& k = shape_of(arguments[5]);
  return {{k.extent[1], k.extent[0], 1}, {0, 0, 0}, 2};
}

/// The rows of the tile and their times are dealt out alike; every DPU has the times of the columns.
template <class T>
void covariance_tile_dpu(dpu::Tasklet& tasklet, Covariance<T> covariance, std::uint64_t first_row,
                         std::uint64_t first_column, dpu::Mram<const T> rows, dpu::Mram<const T> columns,
                         dpu::Mram<T, 2> k) {
  check_shapes(shape_of(rows), shape_of(columns), shape_of(k));
  const std::size_t n = k.extent(1);
  const T noise = covariance.noise * covariance.noise;
  auto row_block = tasklet.buffer<T>(1);
  auto column_block = tasklet.buffer<T>(kBlock<T>);
  auto result = tasklet.buffer<T>(kBlock<T>);
  dpu::for_each_row(tasklet, k.rows(), [&](std::size_t row) {
    const T time = load_element(row_block, rows, row);
    const std::uint64_t diagonal =
        first_row + k.first() + row - first_column;  // beyond n where it is elsewhere
    for (std::size_t j0 = 0; j0 < n; j0 += kBlock<T>) {
      const std::size_t width = std::min(kBlock<T>, n - j0);
      const T* of_columns = column_block.load(columns, j0, width);
      T* to = result.place(k, row * n + j0, width);
      for (std::size_t j = 0; j < width; ++j) {
        to[j] = covariance_at(covariance, time - of_columns[j]) + (j0 + j == diagonal ? noise : T{0});
      }
      charge_elementary<T>(tasklet, 4 * width);
      tasklet.charge<T>(dpu::Operation::Divide, 5 * width);
      charge_multiply_add<T>(tasklet, 14 * width);
      result.store(k, row * n + j0, width);
    }
  });
}

}  // namespace

template <Real T>
const Codelet<void(Covariance<T>, std::uint64_t, std::uint64_t, View<const T>, View<const T>, Out<T, 2>)>&
covariance_tile() {
  static_assert(sizeof(Covariance<T>) == 9 * sizeof(T), "the OpenCL source has the same structure");
  static const auto codelet =
      Codelet{typed_name<T>("covariance_tile"), cpu(covariance_tile_cpu<T>),
              opencl{opencl_source<T>(kSource), "covariance_tile", covariance_tile_range},
              pim(covariance_tile_dpu<T>).template wants<T>(4, Layout::BankReplicated)}
          .with_work([](std::span<const Shape> shapes) {
            const double k = elements_of(shapes[5]);
            return Work{50.0 * k, bytes_of<T>(k + elements_of(shapes[3]) + elements_of(shapes[4]))};
          });
  return codelet;
}

template const Codelet<void(Covariance<float>, std::uint64_t, std::uint64_t, View<const float>,
                            View<const float>, Out<float, 2>)>&
covariance_tile<float>();
template const Codelet<void(Covariance<double>, std::uint64_t, std::uint64_t, View<const double>,
                            View<const double>, Out<double, 2>)>&
covariance_tile<double>();

}  // namespace hocket::kernels
