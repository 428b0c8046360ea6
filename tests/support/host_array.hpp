// SPDX-License-Identifier: Apache-2.0
/// Arrays of the host's for tests of kernels: dense, or a part of a larger array whose other elements are
/// watched.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/reference.hpp"

namespace hocket::testing {

/// A vector or matrix in memory of its own.
template <class T, std::size_t Rank>
class HostArray {
  static_assert(Rank == 1 || Rank == 2, "a vector or a matrix");

 public:
  using element_type = T;

  explicit HostArray(const std::array<std::size_t, Rank>& extents, bool part_of_larger = false)
      : extents_(extents), whole_(extents) {
    if (part_of_larger) {
      for (std::size_t d = 0; d < Rank; ++d) {
        offset_[d] = d + 1;
        whole_[d] += 2 * d + 3;
      }
    }
    std::size_t count = 1;
    for (const std::size_t extent : whole_) count *= extent;
    memory_.assign(count, kOutside);
    for (std::size_t i = 0; i < size(); ++i) (*this)[i] = T{0};
  }

  /// Elements of the array, and of the larger one that it is a part of.
  const std::array<std::size_t, Rank>& extents() const { return extents_; }
  const std::array<std::size_t, Rank>& whole_extents() const { return whole_; }
  const std::array<std::size_t, Rank>& offset() const { return offset_; }
  bool is_part() const { return whole_ != extents_; }
  T* whole_data() { return memory_.data(); }

  std::size_t size() const { return Rank == 1 ? extents_[0] : extents_[0] * extents_[Rank - 1]; }
  /// By row-major index in the array.
  T& operator[](std::size_t i) { return memory_.at(position(i)); }
  T operator[](std::size_t i) const { return memory_.at(position(i)); }
  T& operator()(std::size_t i, std::size_t j) { return (*this)[i * extents_[Rank - 1] + j]; }
  T operator()(std::size_t i, std::size_t j) const { return (*this)[i * extents_[Rank - 1] + j]; }

  /// Whether nothing has been written outside the array.
  bool surroundings_are_untouched() const {
    std::vector<bool> is_inside(memory_.size(), false);
    for (std::size_t i = 0; i < size(); ++i) is_inside[position(i)] = true;
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (!is_inside[i] && memory_[i] != kOutside) return false;
    }
    return true;
  }

 private:
  static constexpr T kOutside = static_cast<T>(77);

  std::size_t position(std::size_t i) const {
    if constexpr (Rank == 1) return offset_[0] + i;
    const std::size_t columns = extents_[Rank - 1];
    return (offset_[0] + i / columns) * whole_[Rank - 1] + offset_[Rank - 1] + i % columns;
  }

  std::array<std::size_t, Rank> extents_;
  std::array<std::size_t, Rank> whole_;
  std::array<std::size_t, Rank> offset_{};
  std::vector<T> memory_;
};

template <class T>
using HostVector = HostArray<T, 1>;
template <class T>
using HostMatrix = HostArray<T, 2>;

/// Fills an array with numbers from [-1, 1); the same seed gives the same numbers.
template <class T, std::size_t Rank>
void randomise(HostArray<T, Rank>& array, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<T> distribution(-1, 1);
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = distribution(engine);
}

template <class T>
HostVector<T> random_vector(std::size_t n, unsigned seed) {
  HostVector<T> result({n});
  randomise(result, seed);
  return result;
}
template <class T>
HostMatrix<T> random_matrix(std::size_t rows, std::size_t columns, unsigned seed,
                            bool part_of_larger = false) {
  HostMatrix<T> result({rows, columns}, part_of_larger);
  randomise(result, seed);
  return result;
}

/// Replaces what lies above the diagonal by NaN, which spoils every result that it enters.
template <class T>
void poison_upper_triangle(HostMatrix<T>& a) {
  for (std::size_t i = 0; i < a.extents()[0]; ++i)
    for (std::size_t j = i + 1; j < a.extents()[1]; ++j) a(i, j) = static_cast<T>(std::nan(""));
}

/// The same values in double precision; a vector becomes a column.
template <class T, std::size_t Rank>
reference::Matrix in_double(const HostArray<T, Rank>& array) {
  reference::Matrix result(array.extents()[0], Rank == 2 ? array.extents()[Rank - 1] : 1);
  for (std::size_t i = 0; i < array.size(); ++i) result.values[i] = static_cast<double>(array[i]);
  return result;
}

}  // namespace hocket::testing
