// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& stencil, const Shape& image, const Shape& result) {
  require(image == result, "convolve", "the result must have the shape of the image",
          NamedShape{"stencil", stencil}, NamedShape{"image", image}, NamedShape{"result", result});
}

/// Index i + u - half, moved to the border where it lies outside [0, extent).
std::size_t clamped(std::size_t i, std::size_t u, std::size_t half, std::size_t extent) noexcept {
  const std::size_t sum = i + u;
  return sum < half ? 0 : std::min(sum - half, extent - 1);
}

template <class T>
void convolve_cpu(View<const T, 2> stencil, View<const T, 2> image, Out<T, 2> result) {
  check_shapes(shape_of(stencil), shape_of(image), shape_of(result));
  const std::size_t rows = image.extent(0);
  const std::size_t columns = image.extent(1);
  const std::size_t half_v = stencil.extent(1) / 2;
  for (std::size_t i = 0; i < rows; ++i) {
    T* to = &result(i, 0);
    std::fill_n(to, columns, T{0});
    for (std::size_t u = 0; u < stencil.extent(0); ++u) {
      const T* from = &image(clamped(i, u, stencil.extent(0) / 2, rows), 0);
      for (std::size_t v = 0; v < stencil.extent(1); ++v) {
        const T weight = stencil(u, v);
        // Columns whose neighbour lies inside the image need no clamping; the loop over them vectorises.
        const std::size_t inner_begin = std::min(half_v > v ? half_v - v : 0, columns);
        const std::size_t inner_end =
            std::max(v > half_v ? columns - std::min(v - half_v, columns) : columns, inner_begin);
        for (std::size_t j = 0; j < inner_begin; ++j) to[j] += weight * from[clamped(j, v, half_v, columns)];
        for (std::size_t j = inner_begin; j < inner_end; ++j) to[j] += weight * from[j + v - half_v];
        for (std::size_t j = inner_end; j < columns; ++j)
          to[j] += weight * from[clamped(j, v, half_v, columns)];
      }
    }
  }
}

constexpr const char* kSource = R"(
__kernel void convolve(__global const real* stencil, const ulong u_size, const ulong v_size,
                       __global const real* image, const ulong image_rows, const ulong image_columns,
                       __global real* result, const ulong rows, const ulong columns) {
  const size_t j = get_global_id(0);
  const size_t i = get_global_id(1);
  if (i >= rows || j >= columns) return;
  real sum = 0;
  for (ulong u = 0; u < u_size; ++u) {
    const long row = clamp((long)(i + u) - (long)(u_size / 2), 0L, (long)rows - 1);
    for (ulong v = 0; v < v_size; ++v) {
      const long column = clamp((long)(j + v) - (long)(v_size / 2), 0L, (long)columns - 1);
      sum += stencil[u * v_size + v] * image[row * columns + column];
    }
  }
  result[i * columns + j] = sum;
}
)";

NdRange convolve_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[0]), shape_of(arguments[1]), shape_of(arguments[2]));
  const Shape& result = shape_of(arguments[2]);
  return {{result.extent[1], result.extent[0], 1}, {0, 0, 0}, 2};
}

/// The rows of the result are dealt out; every DPU has the image, of which it needs the rows around its own.
///
/// For each block of a result row and each row of the stencil, the block of the image row shifted by each
/// stencil column is fetched anew. Blocks therefore need no room for a border, whatever the size of the
/// stencil.
template <class T>
void convolve_dpu(dpu::Tasklet& tasklet, dpu::Mram<const T, 2> stencil, dpu::Mram<const T, 2> image,
                  dpu::Mram<T, 2> result) {
  check_shapes(shape_of(stencil), shape_of(image), shape_of(result));
  const std::size_t rows = image.extent(0);
  const std::size_t columns = image.extent(1);
  const std::size_t half_u = stencil.extent(0) / 2;
  const std::size_t half_v = stencil.extent(1) / 2;
  auto weight_block = tasklet.buffer<T>(1);
  auto image_block = tasklet.buffer<T>(kBlock<T>);
  auto result_block = tasklet.buffer<T>(kBlock<T>);
  dpu::for_each_row(tasklet, result.rows(), [&](std::size_t row) {
    const std::size_t i = result.first() + row;
    for (std::size_t j0 = 0; j0 < columns; j0 += kBlock<T>) {
      const std::size_t width = std::min(kBlock<T>, columns - j0);
      T* to = result_block.place(result, row * columns + j0, width);
      std::fill_n(to, width, T{0});
      for (std::size_t u = 0; u < stencil.extent(0); ++u) {
        const std::size_t image_row = clamped(i, u, half_u, rows) * columns;
        for (std::size_t v = 0; v < stencil.extent(1); ++v) {
          const T weight = load_element(weight_block, stencil, u * stencil.extent(1) + v);
          const std::size_t first = clamped(j0, v, half_v, columns);
          const std::size_t last = clamped(j0 + width - 1, v, half_v, columns);
          const T* from = image_block.load(image, image_row + first, last - first + 1);
          for (std::size_t j = 0; j < width; ++j)
            to[j] += weight * from[clamped(j0 + j, v, half_v, columns) - first];
          charge_multiply_add<T>(tasklet, width);
          tasklet.charge<std::int32_t>(dpu::Operation::Add, width);  // the clamping
        }
      }
      result_block.store(result, row * columns + j0, width);
    }
  });
}

}  // namespace

template <Real T>
const Codelet<void(View<const T, 2>, View<const T, 2>, Out<T, 2>)>& convolve() {
  static const auto codelet = Codelet{typed_name<T>("convolve"), cpu(convolve_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "convolve", convolve_range},
                                      pim(convolve_dpu<T>)
                                          .template wants<T>(0, Layout::BankReplicated)
                                          .template wants<T>(1, Layout::BankReplicated)}
                                  .with_work([](std::span<const Shape> shapes) {
                                    const double pixels = elements_of(shapes[2]);
                                    return Work{2.0 * pixels * elements_of(shapes[0]),
                                                bytes_of<T>(2.0 * pixels + elements_of(shapes[0]))};
                                  });
  return codelet;
}

template const Codelet<void(View<const float, 2>, View<const float, 2>, Out<float, 2>)>& convolve<float>();
template const Codelet<void(View<const double, 2>, View<const double, 2>, Out<double, 2>)>&
convolve<double>();

}  // namespace hocket::kernels
