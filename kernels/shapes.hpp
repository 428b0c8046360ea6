// SPDX-License-Identifier: Apache-2.0
/// Shapes of a kernel's arguments, seen alike from every kind of variant, and the errors when they do not
/// fit.
#pragma once

#include <cstddef>
#include <hocket/dpu.hpp>
#include <hocket/error.hpp>
#include <hocket/view.hpp>
#include <string>
#include <string_view>

namespace hocket::kernels {

template <class T, std::size_t Rank>
Shape shape_of(const View<T, Rank>& view) noexcept {
  Shape shape;
  shape.rank = Rank;
  for (std::size_t d = 0; d < Rank; ++d) shape.extent[d] = view.extent(d);
  return shape;
}

/// Of the whole datum, of which the bank may hold a part.
template <class T, std::size_t Rank>
Shape shape_of(const dpu::Mram<T, Rank>& part) noexcept {
  Shape shape;
  shape.rank = Rank;
  for (std::size_t d = 0; d < Rank; ++d) shape.extent[d] = part.extent(d);
  shape.extent[0] = part.total_rows();
  return shape;
}

/// One argument, as a message names it.
struct NamedShape {
  std::string_view name;
  const Shape& shape;
};

/// Throws InvalidArgument unless `fits`: "gemv: A must have ...; here A is 3 x 4, x is 5".
template <class... Shapes>
void require(bool fits, std::string_view kernel, std::string_view rule, const Shapes&... arguments) {
  if (fits) return;
  std::string message = std::string(kernel) + ": " + std::string(rule) + "; here";
  std::string separator = " ";
  const auto add = [&](const NamedShape& argument) {
    message += separator + std::string(argument.name) + " is " + to_string(argument.shape);
    separator = ", ";
  };
  (add(arguments), ...);
  throw InvalidArgument(message);
}

/// "gemm_f64": codelets for different types have different costs, hence different names.
template <class T>
std::string typed_name(std::string_view kernel) {
  return std::string(kernel) + (sizeof(T) == 8 ? "_f64" : "_f32");
}

/// Bytes of elements of type `T`, for statements of work.
template <class T>
double bytes_of(double elements) noexcept {
  return elements * static_cast<double>(sizeof(T));
}
inline std::size_t divide_up(std::size_t count, std::size_t by) noexcept { return (count + by - 1) / by; }
inline double elements_of(const Shape& shape) noexcept { return static_cast<double>(shape.elements()); }

}  // namespace hocket::kernels
