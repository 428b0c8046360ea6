// SPDX-License-Identifier: Apache-2.0
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& x, const Shape& y) {
  require(x == y, "axpy", "x and y must have the same size", NamedShape{"x", x}, NamedShape{"y", y});
}

template <class T>
void axpy_cpu(T a, View<const T> x, View<T> y) {
  check_shapes(shape_of(x), shape_of(y));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

constexpr const char* kSource = R"(
__kernel void axpy(const real a, __global const real* x, const ulong x_size, __global real* y, const ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
}
)";

NdRange axpy_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[1]), shape_of(arguments[2]));
  return line(shape_of(arguments[2]).elements());
}

template <class T>
void axpy_dpu(dpu::Tasklet& tasklet, T a, dpu::Mram<const T> x, dpu::Mram<T> y) {
  check_shapes(shape_of(x), shape_of(y));
  auto x_block = tasklet.buffer<T>(kBlock<T>);
  auto y_block = tasklet.buffer<T>(kBlock<T>);
  dpu::for_each_block(tasklet, y.size(), kBlock<T>, [&](std::size_t first, std::size_t count) {
    const T* from = x_block.load(x, first, count);
    T* to = y_block.load(y, first, count);
    for (std::size_t i = 0; i < count; ++i) to[i] += a * from[i];
    charge_multiply_add<T>(tasklet, count);
    y_block.store(y, first, count);
  });
}

}  // namespace

template <Real T>
const Codelet<void(T, View<const T>, View<T>)>& axpy() {
  static const auto codelet = Codelet{typed_name<T>("axpy"), cpu(axpy_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "axpy", axpy_range}, pim(axpy_dpu<T>)}
                                  .with_work([](std::span<const Shape> shapes) {
                                    const double n = elements_of(shapes[2]);
                                    return Work{2.0 * n, bytes_of<T>(3.0 * n)};
                                  });
  return codelet;
}

template const Codelet<void(float, View<const float>, View<float>)>& axpy<float>();
template const Codelet<void(double, View<const double>, View<double>)>& axpy<double>();

}  // namespace hocket::kernels
