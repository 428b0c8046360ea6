// SPDX-License-Identifier: Apache-2.0
#include "dense/matrix.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hocket::bench::dense {
namespace {

/// The finaliser of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// In [-1, 1), with 24 bits: exact in either precision.
double random_entry(std::uint64_t seed, std::uint64_t row, std::uint64_t column) noexcept {
  return static_cast<double>(mixed(seed + (row << 32U | column)) >> 40U) / 8388608.0 - 1.0;
}

std::vector<double> random_vector(std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = random_entry(17, i, 0);
  return x;
}

double norm_of(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double element : x) sum += element * element;
  return std::sqrt(sum);
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

}  // namespace

template <class T>
Matrix<T>::Matrix(std::size_t n, std::size_t tile, Storage storage)
    : n_(n), tile_(tile), storage_(storage), bytes_(n * n * sizeof(T)) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20U;
  bytes_ = (bytes_ + kHugePage - 1) / kHugePage * kHugePage;
  void* const memory = std::aligned_alloc(kHugePage, bytes_);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes_, MADV_HUGEPAGE);  // advice: where it is not taken, the pages are small
  std::memset(memory, 0, bytes_);
  memory_ = static_cast<T*>(memory);
}

template <class T>
Matrix<T>::~Matrix() {
  std::free(memory_);
}

/// Calls row(i, j, piece) for the part of row i within each tile, which begins at column j.
template <class T>
template <class Row>
void Matrix<T>::for_each_row_piece(const Row& row) const {
  for (std::size_t ti = 0; ti < count(); ++ti)
    for (std::size_t tj = 0; tj < count(); ++tj)
      for (std::size_t i = 0; i < tile_; ++i) row(ti * tile_ + i, tj * tile_, at(ti, tj) + i * stride());
}

template <class T>
void Matrix<T>::fill(std::uint64_t seed, bool definite) {
  for_each_row_piece([&](std::size_t i, std::size_t first, T* piece) {
    for (std::size_t j = first; j < first + tile_; ++j) {
      const double entry =
          definite ? random_entry(seed, std::min(i, j), std::max(i, j)) : random_entry(seed, i, j);
      piece[j - first] =
          static_cast<T>(definite && i == j ? 2 * std::sqrt(static_cast<double>(n_)) + entry : entry);
    }
  });
}

template <class T>
void Matrix<T>::copy(const Matrix& other) {
  std::memcpy(memory_, other.memory_, bytes_);
}

template <class T>
std::vector<double> Matrix<T>::times(const std::vector<double>& x, bool lower) const {
  std::vector<double> y(n_, 0.0);
  for_each_row_piece([&](std::size_t i, std::size_t first, const T* piece) {
    const std::size_t last = lower ? std::min(first + tile_, std::max(first, i + 1)) : first + tile_;
    double sum = 0.0;
    for (std::size_t j = first; j < last; ++j) sum += static_cast<double>(piece[j - first]) * x[j];
    y[i] += sum;
  });
  return y;
}

template <class T>
std::vector<double> Matrix<T>::transposed_times(const std::vector<double>& x, bool lower) const {
  std::vector<double> y(n_, 0.0);
  for_each_row_piece([&](std::size_t i, std::size_t first, const T* piece) {
    const std::size_t last = lower ? std::min(first + tile_, std::max(first, i + 1)) : first + tile_;
    for (std::size_t j = first; j < last; ++j) y[j] += static_cast<double>(piece[j - first]) * x[i];
  });
  return y;
}

template <class T>
double product_residual(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c) {
  const std::vector<double> x = random_vector(a.n());
  const std::vector<double> expected = a.times(b.times(x));
  return distance(c.times(x), expected) / norm_of(expected);
}

template <class T>
double factor_residual(const Matrix<T>& a, const Matrix<T>& l) {
  const std::vector<double> x = random_vector(a.n());
  const std::vector<double> expected = a.times(x);
  return distance(l.times(l.transposed_times(x, true), true), expected) / norm_of(expected);
}

template class Matrix<float>;
template class Matrix<double>;
template double product_residual<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&);
template double product_residual<double>(const Matrix<double>&, const Matrix<double>&, const Matrix<double>&);
template double factor_residual<float>(const Matrix<float>&, const Matrix<float>&);
template double factor_residual<double>(const Matrix<double>&, const Matrix<double>&);

}  // namespace hocket::bench::dense
