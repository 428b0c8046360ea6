// SPDX-License-Identifier: Apache-2.0
/// Square matrices in tiles for all runtimes alike: memory on huge pages, random contents that depend on nothing
/// but the place, and checks of the results that cost n^2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dense/options.hpp"

namespace hocket::bench::dense {

/// A matrix of n x n elements in tiles; owns its memory. For T = float, double.
template <class T>
class Matrix {
 public:
  /// All elements 0, all pages touched.
  Matrix(std::size_t n, std::size_t tile, Storage storage);
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix();

  std::size_t n() const noexcept { return n_; }
  std::size_t tile() const noexcept { return tile_; }
  /// Tiles along a side.
  std::size_t count() const noexcept { return n_ / tile_; }
  /// First element of tile (i, j).
  T* at(std::size_t i, std::size_t j) const noexcept {
    return memory_ +
           (storage_ == Storage::Tiles ? (i * count() + j) * tile_ * tile_ : i * tile_ * n_ + j * tile_);
  }
  /// Elements from row to row within a tile.
  std::size_t stride() const noexcept { return storage_ == Storage::Tiles ? tile_ : n_; }

  /// Entries in [-1, 1) from `seed`; with `definite`, symmetric and 2 sqrt(n) more on the diagonal, enough to make it
  /// positive definite (the spectrum of the rest ends near 1.2 sqrt(n)).
  void fill(std::uint64_t seed, bool definite);
  /// Becomes a copy of a matrix of the same size, tiles and storage.
  void copy(const Matrix& other);

  /// The matrix times x, in double precision; with `lower`, what lies above the diagonal counts as 0.
  std::vector<double> times(const std::vector<double>& x, bool lower = false) const;
  /// The same of the transposed matrix.
  std::vector<double> transposed_times(const std::vector<double>& x, bool lower = false) const;

 private:
  template <class Row>
  void for_each_row_piece(const Row& row) const;

  std::size_t n_;
  std::size_t tile_;
  Storage storage_;
  std::size_t bytes_;
  T* memory_;
};

/// |C x - A (B x)| / |A (B x)| for a random x (R. Freivalds, Probabilistic machines can use less running time, IFIP
/// 1977). Rounding explains some sqrt(n) epsilons; one wrong tile makes it some tile / n.
template <class T>
double product_residual(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c);
/// |A x - L (L^T x)| / |A x| for a random x.
template <class T>
double factor_residual(const Matrix<T>& a, const Matrix<T>& l);

}  // namespace hocket::bench::dense
