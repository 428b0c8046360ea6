// SPDX-License-Identifier: Apache-2.0
#include <hocket/kernels.hpp>

#include "blas.hpp"
#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& a, const Shape& x, const Shape& y) {
  require(a.extent[1] == x.extent[0] && a.extent[0] == y.extent[0], "gemv",
          "A must have as many columns as x has elements, and as many rows as y", NamedShape{"A", a},
          NamedShape{"x", x}, NamedShape{"y", y});
}
void check_shapes_transposed(const Shape& a, const Shape& x, const Shape& y) {
  require(a.extent[0] == x.extent[0] && a.extent[1] == y.extent[0], "gemv_transposed",
          "A must have as many rows as x has elements, and as many columns as y", NamedShape{"A", a},
          NamedShape{"x", x}, NamedShape{"y", y});
}

template <class T>
void gemv_cpu(T alpha, View<const T, 2> a, View<const T> x, T beta, View<T> y) {
  check_shapes(shape_of(a), shape_of(x), shape_of(y));
  blas::gemv(CblasNoTrans, blas::rows(a), blas::columns(a), alpha, a.data(), blas::leading(a), x.data(),
             blas::size(x.stride(0)), beta, y.data(), blas::size(y.stride(0)));
}

template <class T>
void gemv_transposed_cpu(T alpha, View<const T, 2> a, View<const T> x, T beta, View<T> y) {
  check_shapes_transposed(shape_of(a), shape_of(x), shape_of(y));
  blas::gemv(CblasTrans, blas::rows(a), blas::columns(a), alpha, a.data(), blas::leading(a), x.data(),
             blas::size(x.stride(0)), beta, y.data(), blas::size(y.stride(0)));
}

constexpr std::size_t kGroup = 64;

// A x: one group for each row, whose items read neighbouring elements of it. A^T x: one item for each column,
// so that neighbouring items again read neighbouring elements.
constexpr const char* kSource = R"(
#define GROUP 64
__kernel void gemv(const real alpha, __global const real* a, const ulong m, const ulong n, __global const real* x,
                   const ulong x_size, const real beta, __global real* y, const ulong y_size) {
  __local real partial[GROUP];
  const size_t me = get_local_id(0);
  const ulong row = get_group_id(0);
  real mine = 0;
  if (row < m) {
    for (ulong k = me; k < n; k += GROUP) mine += a[row * n + k] * x[k];
  }
  partial[me] = mine;
  for (size_t width = GROUP / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < width) partial[me] += partial[me + width];
  }
  if (me == 0 && row < m) y[row] = alpha * partial[0] + (beta == 0 ? 0 : beta * y[row]);
}

__kernel void gemv_transposed(const real alpha, __global const real* a, const ulong m, const ulong n,
                              __global const real* x, const ulong x_size, const real beta, __global real* y,
                              const ulong y_size) {
  const size_t column = get_global_id(0);
  if (column >= n) return;
  real sum = 0;
  for (ulong k = 0; k < m; ++k) sum += a[k * n + column] * x[k];
  y[column] = alpha * sum + (beta == 0 ? 0 : beta * y[column]);
}
)";

NdRange gemv_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[1]), shape_of(arguments[2]), shape_of(arguments[4]));
  return line(shape_of(arguments[4]).elements() * kGroup, kGroup);
}
NdRange gemv_transposed_range(std::span<const Argument> arguments) {
  check_shapes_transposed(shape_of(arguments[1]), shape_of(arguments[2]), shape_of(arguments[4]));
  return line(shape_of(arguments[4]).elements());
}

/// Elements of y that a tasklet takes at a time: a row of A is long enough to be streamed by itself.
constexpr std::size_t kRowsAtOnce = 8;

/// beta y, not reading y where beta is 0. Returns `count` elements.
template <class T>
T* load_scaled(dpu::Tasklet& tasklet, dpu::WramBuffer<T>& buffer, dpu::Mram<T> y, std::size_t first,
               std::size_t count, T beta) {
  if (beta == T{0}) {
    T* to = buffer.place(y, first, count);
    std::fill_n(to, count, T{0});
    return to;
  }
  T* to = buffer.load(y, first, count);
  for (std::size_t i = 0; i < count; ++i) to[i] *= beta;
  tasklet.charge<T>(dpu::Operation::Multiply, count);
  return to;
}

/// y and the rows of A are dealt out alike.
template <class T>
void gemv_dpu(dpu::Tasklet& tasklet, T alpha, dpu::Mram<const T, 2> a, dpu::Mram<const T> x, T beta,
              dpu::Mram<T> y) {
  check_shapes(shape_of(a), shape_of(x), shape_of(y));
  const std::size_t n = a.extent(1);
  auto a_block = tasklet.buffer<T>(kBlock<T>);
  auto x_block = tasklet.buffer<T>(kBlock<T>);
  auto y_block = tasklet.buffer<T>(kRowsAtOnce);
  dpu::for_each_block(tasklet, y.rows(), kRowsAtOnce, [&](std::size_t first_row, std::size_t rows) {
    T* to = load_scaled(tasklet, y_block, y, first_row, rows, beta);
    for (std::size_t row = 0; row < rows; ++row) {
      T sum = 0;
      for (std::size_t k = 0; k < n; k += kBlock<T>) {
        const std::size_t count = std::min(kBlock<T>, n - k);
        const T* of_a = a_block.load(a, (first_row + row) * n + k, count);
        const T* of_x = x_block.load(x, k, count);
        for (std::size_t i = 0; i < count; ++i) sum += of_a[i] * of_x[i];
        charge_multiply_add<T>(tasklet, count);
      }
      to[row] += alpha * sum;
    }
    charge_multiply_add<T>(tasklet, rows);
    y_block.store(y, first_row, rows);
  });
}

/// y is dealt out; each DPU has all of A and reads its own columns.
template <class T>
void gemv_transposed_dpu(dpu::Tasklet& tasklet, T alpha, dpu::Mram<const T, 2> a, dpu::Mram<const T> x,
                         T beta, dpu::Mram<T> y) {
  check_shapes_transposed(shape_of(a), shape_of(x), shape_of(y));
  const std::size_t m = a.extent(0);
  const std::size_t n = a.extent(1);
  auto a_block = tasklet.buffer<T>(kBlock<T>);
  auto x_block = tasklet.buffer<T>(kBlock<T>);
  auto y_block = tasklet.buffer<T>(kBlock<T>);
  T* sum = tasklet.wram<T>(kBlock<T>);
  dpu::for_each_block(tasklet, y.rows(), kBlock<T>, [&](std::size_t first, std::size_t count) {
    std::fill_n(sum, count, T{0});
    for (std::size_t k = 0; k < m; k += kBlock<T>) {
      const std::size_t rows = std::min(kBlock<T>, m - k);
      const T* of_x = x_block.load(x, k, rows);
      for (std::size_t row = 0; row < rows; ++row) {
        const T* of_a = a_block.load(a, (k + row) * n + y.first() + first, count);
        for (std::size_t i = 0; i < count; ++i) sum[i] += of_a[i] * of_x[row];
      }
      charge_multiply_add<T>(tasklet, rows * count);
    }
    T* to = load_scaled(tasklet, y_block, y, first, count, beta);
    for (std::size_t i = 0; i < count; ++i) to[i] += alpha * sum[i];
    charge_multiply_add<T>(tasklet, count);
    y_block.store(y, first, count);
  });
}

template <class T>
Work work(std::span<const Shape> shapes) {
  const double a = elements_of(shapes[1]);
  return {2.0 * a, bytes_of<T>(a + elements_of(shapes[2]) + 2.0 * elements_of(shapes[4]))};
}

}  // namespace

template <Real T>
const Codelet<void(T, View<const T, 2>, View<const T>, T, View<T>)>& gemv() {
  static const auto codelet =
      Codelet{typed_name<T>("gemv"), cpu(gemv_cpu<T>), opencl{opencl_source<T>(kSource), "gemv", gemv_range},
              pim(gemv_dpu<T>).template wants<T>(2, Layout::BankReplicated)}
          .with_work(work<T>);
  return codelet;
}

template <Real T>
const Codelet<void(T, View<const T, 2>, View<const T>, T, View<T>)>& gemv_transposed() {
  static const auto codelet =
      Codelet{typed_name<T>("gemv_transposed"), cpu(gemv_transposed_cpu<T>),
              opencl{opencl_source<T>(kSource), "gemv_transposed", gemv_transposed_range},
              pim(gemv_transposed_dpu<T>)
                  .template wants<T>(1, Layout::BankReplicated)
                  .template wants<T>(2, Layout::BankReplicated)}
          .with_work(work<T>);
  return codelet;
}

template const Codelet<void(float, View<const float, 2>, View<const float>, float, View<float>)>&
gemv<float>();
template const Codelet<void(double, View<const double, 2>, View<const double>, double, View<double>)>&
gemv<double>();
template const Codelet<void(float, View<const float, 2>, View<const float>, float, View<float>)>&
gemv_transposed<float>();
template const Codelet<void(double, View<const double, 2>, View<const double>, double, View<double>)>&
gemv_transposed<double>();

}  // namespace hocket::kernels
