// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

template <class T>
void fill_cpu(T value, Out<T> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = value;
}

template <class T>
void fill_matrix_cpu(T value, Out<T, 2> y) {
  for (std::size_t i = 0; i < y.extent(0); ++i) std::fill_n(&y(i, 0), y.extent(1), value);
}

constexpr const char* kSource = R"(
__kernel void fill(const real value, __global real* y, const ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = value;
}

__kernel void fill_matrix(const real value, __global real* y, const ulong rows, const ulong columns) {
  const size_t j = get_global_id(0);
  const size_t i = get_global_id(1);
  if (i < rows && j < columns) y[i * columns + j] = value;
}
)";

template <class T, std::size_t Rank>
void fill_dpu(dpu::Tasklet& tasklet, T value, dpu::Mram<T, Rank> y) {
  auto block = tasklet.buffer<T>(kBlock<T>);
  dpu::for_each_block(tasklet, y.size(), kBlock<T>, [&](std::size_t first, std::size_t count) {
    std::fill_n(block.place(y, first, count), count, value);
    tasklet.charge<std::int32_t>(dpu::Operation::Add, count);
    block.store(y, first, count);
  });
}

template <class T>
Work work(std::span<const Shape> shapes) {
  return {0.0, bytes_of<T>(elements_of(shapes[1]))};
}

}  // namespace

template <Real T>
const Codelet<void(T, Out<T>)>& fill() {
  static const auto codelet = Codelet{typed_name<T>("fill"), cpu(fill_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "fill"}, pim(fill_dpu<T, 1>)}
                                  .with_work(work<T>);
  return codelet;
}

template <Real T>
const Codelet<void(T, Out<T, 2>)>& fill_matrix() {
  static const auto codelet = Codelet{typed_name<T>("fill_matrix"), cpu(fill_matrix_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "fill_matrix"}, pim(fill_dpu<T, 2>)}
                                  .with_work(work<T>);
  return codelet;
}

template const Codelet<void(float, Out<float>)>& fill<float>();
template const Codelet<void(double, Out<double>)>& fill<double>();
template const Codelet<void(float, Out<float, 2>)>& fill_matrix<float>();
template const Codelet<void(double, Out<double, 2>)>& fill_matrix<double>();

}  // namespace hocket::kernels
