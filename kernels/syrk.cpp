// SPDX-License-Identifier: Apache-2.0
#include <hocket/kernels.hpp>

#include "blas.hpp"
#include "matrix_product.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

void check_shapes(const Shape& a, const Shape& c) {
  require(c.extent[0] == c.extent[1] && a.extent[0] == c.extent[0], "syrk",
          "C must be square, with as many rows as A", NamedShape{"A", a}, NamedShape{"C", c});
}

template <class T>
void syrk_cpu(T alpha, View<const T, 2> a, T beta, View<T, 2> c) {
  check_shapes(shape_of(a), shape_of(c));
  blas::syrk_lower(blas::rows(a), blas::columns(a), alpha, a.data(), blas::leading(a), beta, c.data(),
                   blas::leading(c));
}

constexpr const char* kSource = R"(
__kernel __attribute__((reqd_work_group_size(ITEMS, ITEMS, 1)))
void syrk(const real alpha, __global const real* a, const ulong a_rows, const ulong a_columns, const real beta,
          __global real* c, const ulong n, const ulong c_columns) {
  __local real slice_a[DEPTH][TILE];
  __local real slice_b[DEPTH][TILE];
  if (get_group_id(0) > get_group_id(1)) return;  // a tile above the diagonal; true of the whole group
  tile_product(0, 1, 1, n, n, a_columns, alpha, a, a, beta, c, get_group_id(1), get_group_id(0), slice_a, slice_b);
}
)";

NdRange syrk_range(std::span<const Argument> arguments) {
  check_shapes(shape_of(arguments[1]), shape_of(arguments[3]));
  const std::size_t n = shape_of(arguments[3]).extent[0];
  return tile_range(n, n);
}

template <class T>
void syrk_dpu(dpu::Tasklet& tasklet, T alpha, dpu::Mram<const T, 2> a, T beta, dpu::Mram<T, 2> c) {
  check_shapes(shape_of(a), shape_of(c));
  RowProduct<T> product(tasklet, Transpose::No, Transpose::Yes, alpha, a, a, beta, c);
  dpu::for_each_row(tasklet, c.rows(), [&](std::size_t row) { product.compute(row, c.first() + row + 1); });
}

}  // namespace

template <Real T>
const Codelet<void(T, View<const T, 2>, T, View<T, 2>)>& syrk() {
  static const auto codelet =
      Codelet{typed_name<T>("syrk"), cpu(syrk_cpu<T>),
              opencl{opencl_source<T>(std::string(kTileProductSource) + kSource), "syrk", syrk_range},
              pim(syrk_dpu<T>).template wants<T>(1, Layout::BankReplicated)}
          .with_work([](std::span<const Shape> shapes) {
            const double a = elements_of(shapes[1]);
            const auto n = static_cast<double>(shapes[3].extent[0]);
            return Work{a * (n + 1.0), bytes_of<T>(a + n * (n + 1.0))};
          });
  return codelet;
}

template const Codelet<void(float, View<const float, 2>, float, View<float, 2>)>& syrk<float>();
template const Codelet<void(double, View<const double, 2>, double, View<double, 2>)>& syrk<double>();

}  // namespace hocket::kernels
