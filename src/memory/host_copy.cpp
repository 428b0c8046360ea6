// SPDX-License-Identifier: Apache-2.0
#include "memory/host_copy.hpp"

#include <array>
#include <cstring>

namespace hocket::memory {
namespace {

/// Calls `row(from offset, to offset)` for each line along the last dimension.
template <class Row>
void for_each_row(const Shape& shape, const Strides& from, const Strides& to, Row&& row) {
  const auto& extent = shape.extent;
  for (std::size_t i = 0; i < extent[0]; ++i)
    for (std::size_t j = 0; j < extent[1]; ++j)
      for (std::size_t k = 0; k < extent[2]; ++k)
        row(i * from[0] + j * from[1] + k * from[2], i * to[0] + j * to[1] + k * to[2]);
}

/// Moves the used dimensions to the end, so that the last one, the contiguous one, is dimension 3.
struct Aligned {
  Shape shape;
  Strides from;
  Strides to;
};
Aligned align(const Shape& shape, const Strides& from, const Strides& to) {
  Aligned result{shape, from, to};
  const std::size_t shift = kMaxRank - shape.rank;
  for (std::size_t d = 0; d < kMaxRank; ++d) {
    const bool used = d >= shift;
    result.shape.extent[d] = used ? shape.extent[d - shift] : 1;
    result.from[d] = used ? from[d - shift] : 0;
    result.to[d] = used ? to[d - shift] : 0;
  }
  return result;
}

template <class From, class To>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, bf16>) {
    return bf16(static_cast<float>(value));
  } else {
    return static_cast<To>(static_cast<float>(value));
  }
}
template <>
double convert_element<float, double>(float value) {
  return value;
}
template <>
float convert_element<double, float>(double value) {
  return static_cast<float>(value);
}

template <class From, class To>
void convert_array(const void* from, const Strides& from_strides, void* to, const Strides& to_strides,
                   const Shape& shape) {
  const Aligned a = align(shape, from_strides, to_strides);
  for_each_row(a.shape, a.from, a.to, [&](std::size_t from_offset, std::size_t to_offset) {
    const From* source = static_cast<const From*>(from) + from_offset;
    To* target = static_cast<To*>(to) + to_offset;
    for (std::size_t i = 0; i < a.shape.extent[3]; ++i)
      target[i * a.to[3]] = convert_element<From, To>(source[i * a.from[3]]);
  });
}

template <class From, class To>
constexpr Conversion conversion(bool lossy) {
  return {element_type<From>(), element_type<To>(), lossy, 4e9, &convert_array<From, To>};
}

constexpr std::array<Conversion, 6> kConversions{
    conversion<float, bf16>(true),    conversion<bf16, float>(false), conversion<double, float>(true),
    conversion<float, double>(false), conversion<double, bf16>(true), conversion<bf16, double>(false),
};

}  // namespace

void copy_elements(const void* from, const Strides& from_strides, void* to, const Strides& to_strides,
                   const Shape& shape, std::size_t element_bytes) {
  const Aligned a = align(shape, from_strides, to_strides);
  for_each_row(a.shape, a.from, a.to, [&](std::size_t from_offset, std::size_t to_offset) {
    const std::byte* source = static_cast<const std::byte*>(from) + from_offset * element_bytes;
    std::byte* target = static_cast<std::byte*>(to) + to_offset * element_bytes;
    if (a.from[3] == 1 && a.to[3] == 1) {
      std::memcpy(target, source, a.shape.extent[3] * element_bytes);
      return;
    }
    for (std::size_t i = 0; i < a.shape.extent[3]; ++i)
      std::memcpy(target + i * a.to[3] * element_bytes, source + i * a.from[3] * element_bytes,
                  element_bytes);
  });
}

ConversionTable conversions() { return {kConversions.data(), kConversions.data() + kConversions.size()}; }

std::optional<Conversion> find_conversion(ElementType from, ElementType to) {
  for (const Conversion& c : kConversions)
    if (c.from == from && c.to == to) return c;
  return std::nullopt;
}

}  // namespace hocket::memory
