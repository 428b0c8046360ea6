// SPDX-License-Identifier: Apache-2.0
/// Copies and element conversions between strided arrays in the host's memory.
#pragma once

#include <cstddef>
#include <hocket/format.hpp>
#include <optional>

namespace hocket::memory {

/// Copies a box of elements of `element_bytes` each. Strides are in elements. The arrays may not overlap.
void copy_elements(const void* from, const Strides& from_strides, void* to, const Strides& to_strides,
                   const Shape& shape, std::size_t element_bytes);

/// A way to turn elements of one type into another on the host.
struct Conversion {
  ElementType from;
  ElementType to;
  bool lossy = false;             ///< Whether values may change.
  double bytes_per_second = 1e9;  ///< Nominal rate, of bytes read, for route costs.
  void (*convert)(const void* from, const Strides& from_strides, void* to, const Strides& to_strides,
                  const Shape& shape) = nullptr;
};

/// The conversion between two element types, if there is one. Each is registered once, in one table, and found by
/// the routes as one more edge; none is special to any device.
std::optional<Conversion> find_conversion(ElementType from, ElementType to);

/// Calls `visit(conversion)` for each conversion from that type.
template <class Visit>
void for_each_conversion(ElementType from, Visit&& visit);

/// All conversions.
struct ConversionTable {
  const Conversion* begin;
  const Conversion* end;
};
ConversionTable conversions();

template <class Visit>
void for_each_conversion(ElementType from, Visit&& visit) {
  const ConversionTable table = conversions();
  for (const Conversion* c = table.begin; c != table.end; ++c)
    if (c->from == from) visit(*c);
}

}  // namespace hocket::memory
