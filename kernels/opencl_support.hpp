// SPDX-License-Identifier: Apache-2.0
/// What the OpenCL variants share: the head of their sources and the shapes of their launches.
///
/// Sources are OpenCL C 1.2 written for the element type `real` and its vectors `real4`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <hocket/opencl.hpp>
#include <span>
#include <string>
#include <string_view>

#include "shapes.hpp"

namespace hocket::kernels {

/// The source for elements of type `T`.
template <class T>
std::string opencl_source(std::string_view body) {
  const std::string head =
      sizeof(T) == 8
          ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double real;\ntypedef double4 real4;\n"
          : "typedef float real;\ntypedef float4 real4;\n";
  return head + std::string(body);
}

/// The value of a scalar argument.
template <class P>
P scalar(const Argument& argument) noexcept {
  return *static_cast<const P*>(argument.scalar);
}
inline const Shape& shape_of(const Argument& argument) noexcept { return argument.buffer.shape; }

/// One work item for each of `count` indices, in groups of `local`.
inline NdRange line(std::size_t count, std::size_t local = 64) noexcept {
  return {{count, 1, 1}, {local, 1, 1}, 1};
}
/// A single work group, for kernels that synchronise all their items by barriers.
inline NdRange single_group(std::size_t local) noexcept { return {{local, 1, 1}, {local, 1, 1}, 1}; }

}  // namespace hocket::kernels
