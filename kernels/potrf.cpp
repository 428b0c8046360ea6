// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <hocket/kernels.hpp>

#include "blas.hpp"
#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"
#include "triangular.hpp"

namespace hocket::kernels {

NotPositiveDefinite::NotPositiveDefinite(std::size_t column)
    : Error("potrf: the matrix is not positive definite: column " + std::to_string(column) +
            " (counted from 0) has a pivot that is not greater than 0; check that the matrix is symmetric, "
            "or add to "
            "its diagonal"),
      column_(column) {}

namespace {

void check_shape(const Shape& a) {
  require(a.extent[0] == a.extent[1], "potrf", "A must be square", NamedShape{"A", a});
}

template <class T>
void potrf_cpu(View<T, 2> a) {
  check_shape(shape_of(a));
  const int info = factor_lower(blas::rows(a), a.data(), blas::leading(a));
  if (info > 0) throw NotPositiveDefinite(static_cast<std::size_t>(info) - 1);
  // OpenBLAS takes NaN for a pivot.
  for (std::size_t j = 0; j < a.extent(0); ++j) {
    if (std::isnan(a(j, j))) throw NotPositiveDefinite(j);
  }
}

constexpr std::size_t kGroup = 128;

// One group goes from column to column; its items deal out the rows below the diagonal. Column j of L is
// column j of A less the products of the rows' first j entries, over its pivot's root.
constexpr const char* kSource = R"(
#define GROUP 128
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void potrf(__global real* a, const ulong n, const ulong columns) {
  const size_t me = get_local_id(0);
  for (ulong j = 0; j < n; ++j) {
    __global const real* pivot_row = a + j * n;
    for (ulong i = j + me; i < n; i += GROUP) {
      __global const real* row = a + i * n;
      real sum = row[j];
      for (ulong k = 0; k < j; ++k) sum -= row[k] * pivot_row[k];
      a[i * n + j] = sum;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    const real pivot = pivot_row[j];
    const real root = pivot > 0 ? sqrt(pivot) : NAN;
    barrier(CLK_GLOBAL_MEM_FENCE);  // every item has the pivot before it is overwritten
    for (ulong i = j + me; i < n; i += GROUP) a[i * n + j] = i == j ? root : a[i * n + j] / root;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
)";

NdRange potrf_range(std::span<const Argument> arguments) {
  check_shape(shape_of(arguments[0]));
  return single_group(kGroup);
}

/// The sum of the products of the first `count` elements at two places of the matrix.
template <class T>
T dot(dpu::Tasklet& tasklet, dpu::WramBuffer<T>& left, dpu::WramBuffer<T>& right, dpu::Mram<T, 2> a,
      std::size_t left_first, std::size_t right_first, std::size_t count) {
  T sum = 0;
  for (std::size_t k = 0; k < count; k += kBlock<T>) {
    const std::size_t width = std::min(kBlock<T>, count - k);
    const T* of_left = left.load(a, left_first + k, width);
    const T* of_right = right.load(a, right_first + k, width);
    for (std::size_t i = 0; i < width; ++i) sum += of_left[i] * of_right[i];
  }
  charge_multiply_add<T>(tasklet, count);
  return sum;
}

/// Only DPU 0 has rows; its tasklets deal them out, column after column as the OpenCL kernel does. The pivot
/// travels through WRAM, so that its owner may overwrite it in MRAM at once.
template <class T>
void potrf_dpu(dpu::Tasklet& tasklet, dpu::Mram<T, 2> a) {
  check_shape(shape_of(a));
  const std::size_t n = a.rows();
  T* pivot = tasklet.shared<T>(0, 1);
  auto left = tasklet.buffer<T>(kBlock<T>);
  auto right = tasklet.buffer<T>(kBlock<T>);
  for (std::size_t j = 0; j < n; ++j) {
    const auto for_my_rows_from = [&](std::size_t first, const auto& visit) {
      dpu::for_each_row(tasklet, n - first, [&](std::size_t row) { visit(first + row); });
    };
    for_my_rows_from(j, [&](std::size_t i) {
      const T sum = dot(tasklet, left, right, a, i * n, j * n, j);
      T* entry = left.load(a, i * n + j, 1);
      *entry -= sum;
      if (i == j) {
        if (!(*entry > 0)) throw NotPositiveDefinite(j);
        *pivot = *entry;
      }
      left.store(a, i * n + j, 1);
    });
    tasklet.barrier();
    const T root = std::sqrt(*pivot);
    charge_square_root<T>(tasklet);
    for_my_rows_from(j, [&](std::size_t i) {
      T* entry = left.load(a, i * n + j, 1);
      *entry = i == j ? root : *entry / root;
      tasklet.charge<T>(dpu::Operation::Divide, 1);
      left.store(a, i * n + j, 1);
    });
    tasklet.barrier();
  }
}

}  // namespace

template <Real T>
const Codelet<void(View<T, 2>)>& potrf() {
  static const auto codelet = Codelet{typed_name<T>("potrf"), cpu(potrf_cpu<T>),
                                      opencl{opencl_source<T>(kSource), "potrf", potrf_range},
                                      pim(potrf_dpu<T>).template wants<T>(0, Layout::BankSingle)}
                                  .with_work([](std::span<const Shape> shapes) {
                                    const auto n = static_cast<double>(shapes[0].extent[0]);
                                    return Work{n * n * n / 3.0, bytes_of<T>(n * (n + 1.0))};
                                  });
  return codelet;
}

template const Codelet<void(View<float, 2>)>& potrf<float>();
template const Codelet<void(View<double, 2>)>& potrf<double>();

}  // namespace hocket::kernels
