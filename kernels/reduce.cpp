// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& x, const Shape& sum) {
  require(sum.elements() == 1, "reduce", "the sum must have one element", NamedShape{"x", x},
          NamedShape{"sum", sum});
}

// Several running sums keep the adders of a core busy and, in double, lose nothing of a float.
template <class T>
void reduce_cpu(View<const T> x, Out<T> sum) {
  check_shapes(shape_of(x), shape_of(sum));
  std::array<double, 8> partial{};
  const std::size_t n = x.size();
  std::size_t i = 0;
  for (; i + partial.size() <= n; i += partial.size()) {
    for (std::size_t lane = 0; lane < partial.size(); ++lane) partial[lane] += x[i + lane];
  }
  for (std::size_t lane = 0; i < n; ++i, ++lane) partial[lane] += x[i];
  double total = 0;
  for (const double value : partial) total += value;
  sum[0] = static_cast<T>(total);
}

constexpr std::size_t kGroup = 256;

// One group, since OpenCL 1.2 has no synchronisation among groups.
constexpr const char* kSource = R"(
#define GROUP 256
__kernel void reduce(__global const real* x, const ulong n, __global real* sum, const ulong sum_size) {
  __local real partial[GROUP];
  const size_t me = get_local_id(0);
  real mine = 0;
  for (ulong i = me; i < n; i += GROUP) mine += x[i];
  partial[me] = mine;
  for (size_t width = GROUP / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < width) partial[me] += partial[me + width];
  }
  if (me == 0) sum[0] = partial[0];
}
)";

NdRange reduce_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[0]), shape_of(arguments[1]));
  return single_group(kGroup);
}

/// Each DPU writes the sum of its part; the host adds them.
template <class T>
void reduce_dpu(dpu::Tasklet& tasklet, dpu::Mram<const T> x, dpu::Mram<T> sum) {
  check_shapes(shape_of(x), shape_of(sum));
  T* partial = tasklet.shared<T>(0, tasklet.tasklets());
  auto block = tasklet.buffer<T>(kBlock<T>);
  T mine = 0;
  dpu::for_each_block(tasklet, x.size(), kBlock<T>, [&](std::size_t first, std::size_t count) {
    const T* from = block.load(x, first, count);
    for (std::size_t i = 0; i < count; ++i) mine += from[i];
    tasklet.charge<T>(dpu::Operation::Add, count);
  });
  partial[tasklet.id()] = mine;
  tasklet.barrier();
  if (tasklet.id() != 0) return;
  T* total = block.place(sum, 0, 1);
  *total = 0;
  for (unsigned other = 0; other < tasklet.tasklets(); ++other) *total += partial[other];
  tasklet.charge<T>(dpu::Operation::Add, tasklet.tasklets());
  block.store(sum, 0, 1);
}

}  // namespace

template <Real T>
const Codelet<void(View<const T>, Out<T>)>& reduce() {
  static const auto codelet = Codelet{typed_name<T>("reduce"), cpu(reduce_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "reduce", reduce_range},
                                      pim(reduce_dpu<T>).template wants<T>(1, Layout::BankPartialSum)}
                                  .with_work([](std::span<const Shape> shapes) {
                                    const double n = elements_of(shapes[0]);
                                    return Work{n, bytes_of<T>(n)};
                                  });
  return codelet;
}

template const Codelet<void(View<const float>, Out<float>)>& reduce<float>();
template const Codelet<void(View<const double>, Out<double>)>& reduce<double>();

}  // namespace hocket::kernels
