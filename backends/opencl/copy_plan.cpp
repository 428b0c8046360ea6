// SPDX-License-Identifier: Apache-2.0
#include "opencl/copy_plan.hpp"

#include <fmt/format.h>

namespace hocket::opencl_backend {
namespace {

/// A dimension of the copy, strides in bytes.
struct Dimension {
  std::size_t extent;
  std::size_t from;
  std::size_t to;
};

void check_request(const CopyRequest& request) {
  const Format from = request.from.buffer.format;
  const Format to = request.to.buffer.format;
  if (from != to || from.layout != Layout::RowMajor)
    throw InvalidArgument(
        fmt::format("an OpenCL device copies row-major data without converting it, not {} to {}",
                    to_string(from), to_string(to)));
  if (request.from.box.shape.extent != request.to.box.shape.extent)
    throw InvalidArgument(fmt::format("a copy needs boxes of the same shape, not {} and {}",
                                      to_string(request.from.box), to_string(request.to.box)));
  for (const CopyEnd* end : {&request.from, &request.to}) {
    Box whole;
    whole.shape = end->buffer.shape;
    if (!whole.contains(end->box))
      throw InvalidArgument(fmt::format("a copy of {} leaves its buffer, which holds {}", to_string(end->box),
                                        to_string(end->buffer.shape)));
  }
}

std::size_t start_of(const Box& box, const Strides& strides, std::size_t element_bytes) {
  std::size_t elements = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) elements += box.offset[d] * strides[d];
  return elements * element_bytes;
}

/// The dimensions of the box from the innermost out, without those of extent 1; neighbours that are
/// contiguous at both ends are merged. The innermost counts bytes, so that even a strided last dimension is
/// nothing special.
std::vector<Dimension> merged_dimensions(const Shape& box, const Strides& from, const Strides& to,
                                         std::size_t element_bytes) {
  std::vector<Dimension> dimensions{{element_bytes, 1, 1}};
  for (std::size_t d = kMaxRank; d-- > 0;) {
    if (box.extent[d] == 1) continue;
    const Dimension next{box.extent[d], from[d] * element_bytes, to[d] * element_bytes};
    Dimension& inner = dimensions.back();
    if (next.from == inner.extent * inner.from && next.to == inner.extent * inner.to) {
      inner.extent *= next.extent;
    } else {
      dimensions.push_back(next);
    }
  }
  return dimensions;
}

/// OpenCL wants rows that do not overlap, and slices that are whole numbers of rows and do not overlap.
bool rows_fit(const std::vector<Dimension>& d) {
  return d.size() > 1 && d[1].from >= d[0].extent && d[1].to >= d[0].extent;
}
bool slices_fit(const std::vector<Dimension>& d) {
  return d.size() > 2 && d[2].from >= d[1].extent * d[1].from && d[2].to >= d[1].extent * d[1].to &&
         d[2].from % d[1].from == 0 && d[2].to % d[1].to == 0;
}

}  // namespace

std::array<std::size_t, 3> region_origin(std::size_t offset, const CopyPlan::End& end) noexcept {
  std::array<std::size_t, 3> origin{offset, 0, 0};
  if (end.slice_pitch != 0) {
    origin[2] = origin[0] / end.slice_pitch;
    origin[0] %= end.slice_pitch;
  }
  if (end.row_pitch != 0) {
    origin[1] = origin[0] / end.row_pitch;
    origin[0] %= end.row_pitch;
  }
  return origin;
}

CopyPlan plan_copy(const CopyRequest& request) {
  check_request(request);
  const std::size_t element_bytes = request.from.buffer.format.element.bytes;
  const bool from_host = request.direction == CopyDirection::HostToDevice;
  const bool to_host = request.direction == CopyDirection::DeviceToHost;
  const Strides from = from_host ? request.from.buffer.strides : dense_strides(request.from.buffer.shape);
  const Strides to = to_host ? request.to.buffer.strides : dense_strides(request.to.buffer.shape);
  const Shape& box = request.from.box.shape;

  CopyPlan plan;
  if (box.elements() == 0 || element_bytes == 0) return plan;
  const std::vector<Dimension> dimensions = merged_dimensions(box, from, to, element_bytes);
  std::size_t inner = 1;
  plan.region[0] = dimensions[0].extent;
  if (rows_fit(dimensions)) {
    plan.region[1] = dimensions[1].extent;
    plan.from.row_pitch = dimensions[1].from;
    plan.to.row_pitch = dimensions[1].to;
    inner = 2;
    if (slices_fit(dimensions)) {
      plan.region[2] = dimensions[2].extent;
      plan.from.slice_pitch = dimensions[2].from;
      plan.to.slice_pitch = dimensions[2].to;
      inner = 3;
    }
  }

  // The product of the dimensions that are left over, one at a time.
  plan.commands.push_back(
      {start_of(request.from.box, from, element_bytes), start_of(request.to.box, to, element_bytes)});
  for (std::size_t d = inner; d < dimensions.size(); ++d) {
    const std::size_t so_far = plan.commands.size();
    plan.commands.reserve(so_far * dimensions[d].extent);
    for (std::size_t i = 1; i < dimensions[d].extent; ++i)
      for (std::size_t c = 0; c < so_far; ++c)
        plan.commands.push_back(
            {plan.commands[c].from + i * dimensions[d].from, plan.commands[c].to + i * dimensions[d].to});
  }
  return plan;
}

}  // namespace hocket::opencl_backend
