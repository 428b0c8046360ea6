// SPDX-License-Identifier: Apache-2.0
/// Where and in which form a datum lives: shapes, boxes, element types, layouts. A replica of a datum is a
/// (memory node, format) pair that holds one box of it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <hocket/types.hpp>
#include <string>
#include <type_traits>

namespace hocket {

/// Most dimensions that data can have.
inline constexpr std::size_t kMaxRank = 4;

/// Extents of an index space, outermost dimension first. Dimensions from `rank` on are 1.
struct Shape {
  std::array<std::size_t, kMaxRank> extent{1, 1, 1, 1};
  std::uint8_t rank = 1;

  constexpr std::size_t elements() const noexcept { return extent[0] * extent[1] * extent[2] * extent[3]; }
  friend constexpr bool operator==(const Shape&, const Shape&) noexcept = default;
};

/// Distances in elements between neighbours along each dimension.
using Strides = std::array<std::size_t, kMaxRank>;

/// Strides of a dense row-major array of that shape.
constexpr Strides dense_strides(const Shape& shape) noexcept {
  Strides strides{1, 1, 1, 1};
  for (std::size_t d = kMaxRank - 1; d > 0; --d) strides[d - 1] = strides[d] * shape.extent[d];
  return strides;
}

/// A rectangular part of an index space.
struct Box {
  std::array<std::size_t, kMaxRank> offset{0, 0, 0, 0};
  Shape shape;

  constexpr std::size_t end(std::size_t dimension) const noexcept {
    return offset[dimension] + shape.extent[dimension];
  }
  constexpr bool contains(const Box& inner) const noexcept {
    for (std::size_t d = 0; d < kMaxRank; ++d)
      if (inner.offset[d] < offset[d] || inner.end(d) > end(d)) return false;
    return true;
  }
  constexpr bool overlaps(const Box& other) const noexcept {
    for (std::size_t d = 0; d < kMaxRank; ++d)
      if (other.offset[d] >= end(d) || offset[d] >= other.end(d)) return false;
    return true;
  }
  friend constexpr bool operator==(const Box&, const Box&) noexcept = default;
};

/// 16-bit brain floating point: the upper half of an IEEE binary32, rounded to nearest even.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() noexcept = default;
  constexpr explicit bf16(float value) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = is_nan ? static_cast<std::uint16_t>((word >> 16) | 0x40u)
                  : static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend constexpr bool operator==(bf16, bf16) noexcept = default;  ///< Same bits.
};

enum class ElementKind : std::uint8_t { Float, BrainFloat, Signed, Unsigned, Opaque };

/// Type of one element. Opaque elements are any other trivially copyable type; they are told apart by size.
struct ElementType {
  ElementKind kind = ElementKind::Opaque;
  std::uint32_t bytes = 0;

  friend constexpr bool operator==(ElementType, ElementType) noexcept = default;
};

/// The element type of C++ type `T`.
template <class T>
constexpr ElementType element_type() noexcept {
  using U = std::remove_cv_t<T>;
  constexpr auto bytes = static_cast<std::uint32_t>(sizeof(U));
  if constexpr (std::is_same_v<U, bf16>) {
    return {ElementKind::BrainFloat, bytes};
  } else if constexpr (std::is_floating_point_v<U>) {
    return {ElementKind::Float, bytes};
  } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return {ElementKind::Signed, bytes};
  } else if constexpr (std::is_integral_v<U>) {
    return {ElementKind::Unsigned, bytes};
  } else {
    return {ElementKind::Opaque, bytes};
  }
}

/// How the elements of a box lie in the memory of a node.
enum class Layout : std::uint8_t {
  RowMajor,         ///< Row-major; on the host possibly strided, elsewhere dense.
  BankInterleaved,  ///< Blocks of the leading dimension dealt out over the banks of a PIM device.
  BankReplicated,   ///< The whole in every bank; kernels may only read it.
  BankPartialSum,   ///< A full-size partial result in every bank; their sum is the value. Write-only.
  BankSingle,       ///< The whole in the first bank.
};

/// Element type and layout: the second half of where a replica is.
struct Format {
  ElementType element;
  Layout layout = Layout::RowMajor;

  friend constexpr bool operator==(Format, Format) noexcept = default;
};

std::string to_string(ElementType type);    ///< "f64", "bf16", "i32", "u8", "opaque(24 bytes)".
std::string to_string(Layout layout);       ///< "row-major", "bank-interleaved", ...
std::string to_string(Format format);       ///< "f32 row-major".
std::string to_string(const Shape& shape);  ///< "100 x 20".
std::string to_string(const Box& box);      ///< "[0:100, 20:40]".

}  // namespace hocket
