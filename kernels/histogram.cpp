// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <hocket/kernels.hpp>

#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

template <class T>
void check_range(T lo, T hi) {
  if (lo < hi && std::isfinite(lo) && std::isfinite(hi)) return;
  throw InvalidArgument("histogram: the range must be finite and lo less than hi; here it is [" +
                        std::to_string(lo) + ", " + std::to_string(hi) + "]");
}

/// Bins per unit, in the order of operations that the OpenCL source has as well.
template <class T>
T bins_per_unit(T lo, T hi, std::size_t bins) {
  return static_cast<T>(bins) / (hi - lo);
}

/// Adds one to the bin of `value` where it is one of [first_bin, first_bin + counted).
template <class T>
void count(T value, T lo, T hi, T scale, std::size_t bins, std::size_t first_bin, std::size_t counted,
           std::uint32_t* counts) {
  if (!(value >= lo && value <= hi)) return;
  const auto bin = std::min(static_cast<std::size_t>((value - lo) * scale), bins - 1);
  if (bin - first_bin < counted) ++counts[bin - first_bin];  // below first_bin it wraps to a huge number
}

template <class T>
void histogram_cpu(T lo, T hi, View<const T> x, Out<std::uint32_t> bins) {
  check_range(lo, hi);
  const std::size_t n = bins.size();
  const T scale = bins_per_unit(lo, hi, n);
  std::fill_n(bins.data(), n, 0u);
  for (std::size_t i = 0; i < x.size(); ++i) count(x[i], lo, hi, scale, n, 0, n, bins.data());
}

template <class T>
void histogram_matrix_cpu(T lo, T hi, View<const T, 2> x, Out<std::uint32_t> bins) {
  check_range(lo, hi);
  const std::size_t n = bins.size();
  const T scale = bins_per_unit(lo, hi, n);
  std::fill_n(bins.data(), n, 0u);
  for (std::size_t i = 0; i < x.extent(0); ++i) {
    for (std::size_t j = 0; j < x.extent(1); ++j) count(x(i, j), lo, hi, scale, n, 0, n, bins.data());
  }
}

constexpr std::size_t kGroup = 256;

// One group: the bins must be zero before any item counts, and only items of one group can wait for each
// other.
constexpr const char* kSource = R"(
#define GROUP 256
void count_all(const real lo, const real hi, __global const real* x, const ulong n, __global uint* bins,
               const ulong bin_count) {
  const size_t me = get_local_id(0);
  for (ulong b = me; b < bin_count; b += GROUP) bins[b] = 0;
  barrier(CLK_GLOBAL_MEM_FENCE);
  const real scale = (real)bin_count / (hi - lo);
  for (ulong i = me; i < n; i += GROUP) {
    const real value = x[i];
    if (value >= lo && value <= hi) atomic_inc(&bins[min((ulong)((value - lo) * scale), bin_count - 1)]);
  }
}

__kernel void histogram(const real lo, const real hi, __global const real* x, const ulong n, __global uint* bins,
                        const ulong bin_count) {
  count_all(lo, hi, x, n, bins, bin_count);
}

__kernel void histogram_matrix(const real lo, const real hi, __global const real* x, const ulong rows,
                               const ulong columns, __global uint* bins, const ulong bin_count) {
  count_all(lo, hi, x, rows * columns, bins, bin_count);
}
)";

template <class T>
NdRange histogram_range(std::span<const Argument> arguments) {
  check_range(scalar<T>(arguments[0]), scalar<T>(arguments[1]));
  return single_group(kGroup);
}

/// Bins that each tasklet counts for itself before all are added up; 24 tasklets' fit WRAM. More bins take
/// more passes over the data.
constexpr std::size_t kBinsOfPass = 256;

template <class T, std::size_t Rank>
void histogram_dpu(dpu::Tasklet& tasklet, T lo, T hi, dpu::Mram<const T, Rank> x,
                   dpu::Mram<std::uint32_t> bins) {
  check_range(lo, hi);
  const std::size_t n = bins.size();
  const T scale = bins_per_unit(lo, hi, n);
  auto* counts = tasklet.shared<std::uint32_t>(0, tasklet.tasklets() * kBinsOfPass);
  std::uint32_t* mine = counts + tasklet.id() * kBinsOfPass;
  auto x_block = tasklet.buffer<T>(kBlock<T>);
  auto bin_block = tasklet.buffer<std::uint32_t>(kBlock<std::uint32_t> / 4);
  for (std::size_t first_bin = 0; first_bin < n; first_bin += kBinsOfPass) {
    const std::size_t counted = std::min(kBinsOfPass, n - first_bin);
    std::fill_n(mine, counted, 0u);
    dpu::for_each_block(tasklet, x.size(), kBlock<T>, [&](std::size_t first, std::size_t values) {
      const T* from = x_block.load(x, first, values);
      for (std::size_t i = 0; i < values; ++i) count(from[i], lo, hi, scale, n, first_bin, counted, mine);
      tasklet.charge<T>(dpu::Operation::Subtract,
                        3 * values);  // two comparisons cost as much as two of these
      tasklet.charge<T>(dpu::Operation::Multiply, values);
      tasklet.charge<std::int32_t>(dpu::Operation::Add, 2 * values);
    });
    tasklet.barrier();
    dpu::for_each_block(tasklet, counted, bin_block.capacity(), [&](std::size_t first, std::size_t width) {
      std::uint32_t* total = bin_block.place(bins, first_bin + first, width);
      std::fill_n(total, width, 0u);
      for (unsigned other = 0; other < tasklet.tasklets(); ++other) {
        for (std::size_t b = 0; b < width; ++b) total[b] += counts[other * kBinsOfPass + first + b];
      }
      tasklet.charge<std::int32_t>(dpu::Operation::Add, width * tasklet.tasklets());
      bin_block.store(bins, first_bin + first, width);
    });
    tasklet.barrier();
  }
}

template <class T>
Work work(std::span<const Shape> shapes) {
  const double n = elements_of(shapes[2]);
  return {3.0 * n, bytes_of<T>(n) + bytes_of<std::uint32_t>(elements_of(shapes[3]))};
}

}  // namespace

template <Real T>
const Codelet<void(T, T, View<const T>, Out<std::uint32_t>)>& histogram() {
  static const auto codelet =
      Codelet{typed_name<T>("histogram"), cpu(histogram_cpu<T>),
              opencl{opencl_source<T>(kSource), "histogram", histogram_range<T>},
              pim(histogram_dpu<T, 1>).template wants<std::uint32_t>(3, Layout::BankPartialSum)}
          .with_work(work<T>);
  return codelet;
}

template <Real T>
const Codelet<void(T, T, View<const T, 2>, Out<std::uint32_t>)>& histogram_matrix() {
  static const auto codelet =
      Codelet{typed_name<T>("histogram_matrix"), cpu(histogram_matrix_cpu<T>),
              opencl{opencl_source<T>(kSource), "histogram_matrix", histogram_range<T>},
              pim(histogram_dpu<T, 2>).template wants<std::uint32_t>(3, Layout::BankPartialSum)}
          .with_work(work<T>);
  return codelet;
}

template const Codelet<void(float, float, View<const float>, Out<std::uint32_t>)>& histogram<float>();
template const Codelet<void(double, double, View<const double>, Out<std::uint32_t>)>& histogram<double>();
template const Codelet<void(float, float, View<const float, 2>, Out<std::uint32_t>)>&
histogram_matrix<float>();
template const Codelet<void(double, double, View<const double, 2>, Out<std::uint32_t>)>&
histogram_matrix<double>();

}  // namespace hocket::kernels
