// SPDX-License-Identifier: Apache-2.0
#include "cholesky/matrix.hpp"

#include <algorithm>
#include <hocket/opencl.hpp>
#include <hocket/pim.hpp>
#include <string>
#include <type_traits>

namespace hocket::jobs::cholesky {
namespace {

/// The finaliser of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014): a bijection of 64-bit words that leaves no pattern of the input.
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

template <class T>
void fill_row(std::uint64_t seed, std::uint64_t n, std::uint64_t row, std::uint64_t first_column, T* to,
              std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) to[j] = spd_entry<T>(seed, n, row, first_column + j);
}

template <class T>
void tile_cpu(std::uint64_t seed, std::uint64_t n, std::uint64_t first_row, std::uint64_t first_column,
              Out<T, 2> tile) {
  for (std::size_t i = 0; i < tile.extent(0); ++i)
    fill_row(seed, n, first_row + i, first_column, &tile(i, 0), tile.extent(1));
}

constexpr const char* kSource = R"(
ulong mixed(ulong x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
  return x ^ (x >> 31);
}
__kernel void spd_tile(const ulong seed, const ulong n, const ulong first_row, const ulong first_column,
                       __global real* tile, const ulong rows, const ulong columns) {
  const ulong j = get_global_id(0);
  const ulong i = get_global_id(1);
  if (i >= rows || j >= columns) return;
  const ulong low = min(first_row + i, first_column + j);
  const ulong high = max(first_row + i, first_column + j);
  const real value = (real)(mixed(seed ^ mixed(high << 32 | low)) >> 40) / (real)8388608 - (real)1;
  tile[i * columns + j] = low == high ? (real)n + value : value;
}
)";

template <class T>
std::string source() {
  return (std::is_same_v<T, double> ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double real;\n"
                                    : "typedef float real;\n") +
         std::string(kSource);
}

template <class T>
void tile_dpu(dpu::Tasklet& tasklet, std::uint64_t seed, std::uint64_t n, std::uint64_t first_row,
              std::uint64_t first_column, dpu::Mram<T, 2> tile) {
  constexpr std::size_t kBlock = 64;
  const std::size_t columns = tile.extent(1);
  auto block = tasklet.buffer<T>(kBlock);
  for (std::size_t row = tasklet.id(); row < tile.rows(); row += tasklet.tasklets()) {
    for (std::size_t j = 0; j < columns; j += kBlock) {
      const std::size_t count = std::min(kBlock, columns - j);
      fill_row(seed, n, first_row + tile.first() + row, first_column + j,
               block.place(tile, row * columns + j, count), count);
      tasklet.charge<std::uint64_t>(dpu::Operation::Multiply, 4 * count);  // two rounds of mixing
      tasklet.charge<std::uint64_t>(dpu::Operation::Add, 12 * count);
      tasklet.charge<T>(dpu::Operation::Add, 2 * count);
      block.store(tile, row * columns + j, count);
    }
  }
}

}  // namespace

template <kernels::Real T>
T spd_entry(std::uint64_t seed, std::uint64_t n, std::uint64_t row, std::uint64_t column) noexcept {
  const std::uint64_t low = std::min(row, column);
  const std::uint64_t high = std::max(row, column);
  // 24 bits: exact in both element types, and so are the division and the difference.
  const T value = static_cast<T>(mixed(seed ^ mixed(high << 32U | low)) >> 40U) / T{8388608} - T{1};
  return low == high ? static_cast<T>(n) + value : value;
}

template <kernels::Real T>
const Codelet<void(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, Out<T, 2>)>& spd_tile() {
  static const auto codelet =
      Codelet{"spd_tile", cpu(tile_cpu<T>), opencl{source<T>(), "spd_tile"}, pim(tile_dpu<T>)}.with_work(
          [](std::span<const Shape> shapes) {
            return Work{0.0, static_cast<double>(shapes[4].elements() * sizeof(T))};
          });
  return codelet;
}

template float spd_entry<float>(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) noexcept;
template double spd_entry<double>(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) noexcept;
template const Codelet<void(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, Out<float, 2>)>&
spd_tile<float>();
template const Codelet<void(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, Out<double, 2>)>&
spd_tile<double>();

}  // namespace hocket::jobs::cholesky
