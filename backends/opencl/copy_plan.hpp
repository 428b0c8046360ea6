// SPDX-License-Identifier: Apache-2.0
/// Turns a copy of a strided box of up to four dimensions into the fewest OpenCL commands: one plain copy
/// where both ends are contiguous, one rectangular copy where three dimensions suffice, else one for each
/// index of the dimensions left over. Pure arithmetic: no OpenCL call is made here.
#pragma once

#include <array>
#include <cstddef>
#include <hocket/backend.hpp>
#include <vector>

namespace hocket::opencl_backend {

/// Commands that all copy a region of the same form.
struct CopyPlan {
  struct End {
    std::size_t row_pitch = 0;    ///< Bytes from row to row; 0 where there is one row.
    std::size_t slice_pitch = 0;  ///< Bytes from slice to slice; 0 where there is one slice.
  };
  struct Command {
    std::size_t from = 0;  ///< Bytes from the start of the buffer to the region.
    std::size_t to = 0;
  };
  std::array<std::size_t, 3> region{0, 1, 1};  ///< Bytes in a row, rows in a slice, slices.
  End from;
  End to;
  std::vector<Command> commands;  ///< Empty where the box is.

  bool contiguous() const noexcept { return region[1] == 1 && region[2] == 1; }
};

/// Where a region starts in a buffer with these pitches, as rectangular copies want it: byte within the row,
/// row, slice.
std::array<std::size_t, 3> region_origin(std::size_t offset, const CopyPlan::End& end) noexcept;

/// The commands for a request. Strides of host buffers are taken from them; device buffers are dense. Throws
/// `InvalidArgument` where the two boxes differ in shape, the formats differ, or a box leaves its buffer.
CopyPlan plan_copy(const CopyRequest& request);

}  // namespace hocket::opencl_backend
