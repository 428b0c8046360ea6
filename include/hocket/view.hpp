// SPDX-License-Identifier: Apache-2.0
/// What a CPU kernel sees of a datum. The view's type states how the kernel uses it: `View<const T>` is read,
/// `View<T>` is read and written, `Out<T>` is written without being read first.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <hocket/format.hpp>
#include <type_traits>

namespace hocket {

/// A non-owning view of a strided array in the memory of the device that runs the kernel. Extents and strides
/// count elements; the last dimension of runtime-owned and borrowed data is contiguous. Valid only while the
/// kernel runs. Indices are checked by assertions in debug builds.
template <class T, std::size_t Rank = 1>
class View {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "hocket: a view has 1 to 4 dimensions");

 public:
  using element_type = T;
  static constexpr std::size_t rank = Rank;

  View(T* data, const std::array<std::size_t, Rank>& extents,
       const std::array<std::size_t, Rank>& strides) noexcept
      : data_(data), extents_(extents), strides_(strides) {}

  /// The first element. Elements are contiguous only where `contiguous()` says so.
  T* data() const noexcept { return data_; }
  std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
  std::size_t stride(std::size_t dimension) const noexcept { return strides_[dimension]; }
  const std::array<std::size_t, Rank>& extents() const noexcept { return extents_; }
  /// Number of elements.
  std::size_t size() const noexcept {
    std::size_t product = 1;
    for (const std::size_t extent : extents_) product *= extent;
    return product;
  }
  bool contiguous() const noexcept {
    std::size_t expected = 1;
    for (std::size_t d = Rank; d-- > 0;) {
      if (extents_[d] != 1 && strides_[d] != expected) return false;
      expected *= extents_[d];
    }
    return true;
  }

  T& operator[](std::size_t i) const noexcept requires(Rank == 1) {
    assert(i < extents_[0]);
    return data_[i * strides_[0]];
  }
  template <class... Indices>
  requires(sizeof...(Indices) == Rank && (std::is_convertible_v<Indices, std::size_t> && ...)) T& operator()(
      Indices... indices) const noexcept {
    const std::array<std::size_t, Rank> at{static_cast<std::size_t>(indices)...};
    std::size_t position = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      assert(at[d] < extents_[d]);
      position += at[d] * strides_[d];
    }
    return data_[position];
  }

  T* begin() const noexcept requires(Rank == 1) {
    assert(contiguous());
    return data_;
  }
  T* end() const noexcept requires(Rank == 1) { return begin() + extents_[0]; }

 private:
  T* data_;
  std::array<std::size_t, Rank> extents_;
  std::array<std::size_t, Rank> strides_;
};

/// A view that the kernel writes in full before it reads any of it; its former contents are not fetched.
template <class T, std::size_t Rank = 1>
class Out : public View<T, Rank> {
  static_assert(!std::is_const_v<T>, "hocket: Out<const T> cannot be written; use View<const T> to read");

 public:
  using View<T, Rank>::View;
};

}  // namespace hocket
