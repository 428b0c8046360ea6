// SPDX-License-Identifier: Apache-2.0
/// The matrix product that gemm and syrk share: an OpenCL function for a tile of the result and a DPU
/// function for a row of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"

namespace hocket::kernels {

/// Rows and columns of a tile of the result, and work items of a group along each.
inline constexpr std::size_t kTile = 64;
inline constexpr std::size_t kTileItems = 16;

/// Declares `tile_product`, which a group of 16 x 16 items calls to compute the 64 x 64 tile (tile_row,
/// tile_column) of C := alpha op(A) op(B) + beta C, each item 4 x 4 elements of it. Slices of A and B of
/// depth 16 pass through local memory, zeros standing for what lies past the border. With `lower` set,
/// elements above the diagonal are left alone. Vectors of 4 let devices whose items are not lanes of a vector
/// unit (CPUs) use theirs.
inline constexpr const char* kTileProductSource = R"(
#define TILE 64
#define ITEMS 16
#define DEPTH 16
#define EACH 4

void tile_product(const int transpose_a, const int transpose_b, const int lower, const ulong m, const ulong n,
                  const ulong depth, const real alpha, __global const real* a, __global const real* b,
                  const real beta, __global real* c, const ulong tile_row, const ulong tile_column,
                  __local real (*slice_a)[TILE], __local real (*slice_b)[TILE]) {
  const size_t me_column = get_local_id(0);
  const size_t me_row = get_local_id(1);
  const size_t me = me_row * ITEMS + me_column;
  const ulong row0 = tile_row * TILE;
  const ulong column0 = tile_column * TILE;
  real4 sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;

  for (ulong k0 = 0; k0 < depth; k0 += DEPTH) {
    for (size_t e = me; e < TILE * DEPTH; e += ITEMS * ITEMS) {
      // Neighbouring items read along the rows of A and B, whichever way those lie.
      const size_t ai = transpose_a ? e % TILE : e / DEPTH;
      const size_t ak = transpose_a ? e / TILE : e % DEPTH;
      const ulong i = row0 + ai;
      slice_a[ak][ai] =
          i < m && k0 + ak < depth ? (transpose_a ? a[(k0 + ak) * m + i] : a[i * depth + k0 + ak]) : 0;
      const size_t bj = transpose_b ? e / DEPTH : e % TILE;
      const size_t bk = transpose_b ? e % DEPTH : e / TILE;
      const ulong j = column0 + bj;
      slice_b[bk][bj] =
          j < n && k0 + bk < depth ? (transpose_b ? b[j * depth + k0 + bk] : b[(k0 + bk) * n + j]) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < DEPTH; ++k) {
      const real4 of_a = vload4(me_row, slice_a[k]);
      const real4 of_b = vload4(me_column, slice_b[k]);
      sum0 += of_a.s0 * of_b;
      sum1 += of_a.s1 * of_b;
      sum2 += of_a.s2 * of_b;
      sum3 += of_a.s3 * of_b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  real sum[EACH][EACH];
  vstore4(sum0, 0, sum[0]);
  vstore4(sum1, 0, sum[1]);
  vstore4(sum2, 0, sum[2]);
  vstore4(sum3, 0, sum[3]);
  for (int r = 0; r < EACH; ++r) {
    for (int s = 0; s < EACH; ++s) {
      const ulong i = row0 + me_row * EACH + r;
      const ulong j = column0 + me_column * EACH + s;
      if (i < m && j < n && !(lower && j > i))
        c[i * n + j] = alpha * sum[r][s] + (beta == 0 ? 0 : beta * c[i * n + j]);
    }
  }
}
)";

/// One group for each tile of an m x n result.
inline NdRange tile_range(std::size_t m, std::size_t n) noexcept {
  return {{divide_up(n, kTile) * kTileItems, divide_up(m, kTile) * kTileItems, 1},
          {kTileItems, kTileItems, 1},
          2};
}

/// Computes rows of C := alpha op(A) op(B) + beta C on a DPU that has all of A and B. One for each tasklet;
/// takes four blocks of WRAM.
template <class T>
class RowProduct {
 public:
  RowProduct(dpu::Tasklet& tasklet, Transpose transpose_a, Transpose transpose_b, T alpha,
             dpu::Mram<const T, 2> a, dpu::Mram<const T, 2> b, T beta, dpu::Mram<T, 2> c)
      : tasklet_(tasklet),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b),
        alpha_(alpha),
        a_(a),
        b_(b),
        beta_(beta),
        c_(c),
        depth_(a.extent(transpose_a == Transpose::Yes ? 0 : 1)),
        loaded_(tasklet.buffer<T>(kBlock<T>)),
        result_(tasklet.buffer<T>(kBlock<T>)),
        of_a_(tasklet.wram<T>(kBlock<T>)),
        sum_(tasklet.wram<T>(kBlock<T>)) {}

  /// The first `columns` elements of a row, given by its index in this bank.
  void compute(std::size_t row, std::size_t columns) {
    for (std::size_t j = 0; j < columns; j += kBlock<T>)
      compute_block(row, j, std::min(kBlock<T>, columns - j));
  }

 private:
  void compute_block(std::size_t row, std::size_t j0, std::size_t width) {
    std::fill_n(sum_, width, T{0});
    for (std::size_t k0 = 0; k0 < depth_; k0 += kBlock<T>) {
      const std::size_t count = std::min(kBlock<T>, depth_ - k0);
      fetch_a(c_.first() + row, k0, count);
      if (transpose_b_ == Transpose::Yes) {  // row j of B, against the row of A
        for (std::size_t j = 0; j < width; ++j) {
          const T* of_b = loaded_.load(b_, (j0 + j) * depth_ + k0, count);
          for (std::size_t k = 0; k < count; ++k) sum_[j] += of_a_[k] * of_b[k];
        }
      } else {  // row k of B, times one element of A
        for (std::size_t k = 0; k < count; ++k) {
          const T* of_b = loaded_.load(b_, (k0 + k) * b_.extent(1) + j0, width);
          for (std::size_t j = 0; j < width; ++j) sum_[j] += of_a_[k] * of_b[j];
        }
      }
      charge_multiply_add<T>(tasklet_, count * width);
    }
    const std::size_t first = row * c_.extent(1) + j0;
    T* to = beta_ == T{0} ? result_.place(c_, first, width) : result_.load(c_, first, width);
    for (std::size_t j = 0; j < width; ++j) to[j] = alpha_ * sum_[j] + (beta_ == T{0} ? T{0} : beta_ * to[j]);
    charge_multiply_add<T>(tasklet_, 2 * width);
    result_.store(c_, first, width);
  }

  /// Elements [k0, k0 + count) of row i of op(A).
  void fetch_a(std::size_t i, std::size_t k0, std::size_t count) {
    if (transpose_a_ == Transpose::Yes) {
      for (std::size_t k = 0; k < count; ++k)
        of_a_[k] = load_element(loaded_, a_, (k0 + k) * a_.extent(1) + i);
    } else {
      std::copy_n(loaded_.load(a_, i * depth_ + k0, count), count, of_a_);
    }
    tasklet_.charge<std::int32_t>(dpu::Operation::Add, count);
  }

  dpu::Tasklet& tasklet_;
  Transpose transpose_a_;
  Transpose transpose_b_;
  T alpha_;
  dpu::Mram<const T, 2> a_;
  dpu::Mram<const T, 2> b_;
  T beta_;
  dpu::Mram<T, 2> c_;
  std::size_t depth_;
  dpu::WramBuffer<T> loaded_;
  dpu::WramBuffer<T> result_;
  T* of_a_;
  T* sum_;
};

}  // namespace hocket::kernels
