// SPDX-License-Identifier: Apache-2.0
#include <hocket/kernels.hpp>

#include "blas.hpp"
#include "matrix_product.hpp"
#include "shapes.hpp"

namespace hocket::kernels {
namespace {

/// m, n and k of a product.
struct Sizes {
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

Sizes check_shapes(Transpose transpose_a, Transpose transpose_b, const Shape& a, const Shape& b,
                   const Shape& c) {
  const bool flip_a = transpose_a == Transpose::Yes;
  const bool flip_b = transpose_b == Transpose::Yes;
  const Sizes sizes{c.extent[0], c.extent[1], a.extent[flip_a ? 0 : 1]};
  const bool fits = a.extent[flip_a ? 1 : 0] == sizes.m && b.extent[flip_b ? 1 : 0] == sizes.k &&
                    b.extent[flip_b ? 0 : 1] == sizes.n;
  require(fits, "gemm",
          std::string("op(A) must be m x k, op(B) k x n and C m x n, with op(A) = A") + (flip_a ? "^T" : "") +
              " and op(B) = B" + (flip_b ? "^T" : ""),
          NamedShape{"A", a}, NamedShape{"B", b}, NamedShape{"C", c});
  return sizes;
}

template <class T>
void gemm_cpu(Transpose transpose_a, Transpose transpose_b, T alpha, View<const T, 2> a, View<const T, 2> b,
              T beta, View<T, 2> c) {
  const Sizes sizes = check_shapes(transpose_a, transpose_b, shape_of(a), shape_of(b), shape_of(c));
  blas::gemm(blas::flag(transpose_a), blas::flag(transpose_b), blas::size(sizes.m), blas::size(sizes.n),
             blas::size(sizes.k), alpha, a.data(), blas::leading(a), b.data(), blas::leading(b), beta,
             c.data(), blas::leading(c));
}

constexpr const char* kSource = R"(
__kernel __attribute__((reqd_work_group_size(ITEMS, ITEMS, 1)))
void gemm(const uint transpose_a, const uint transpose_b, const real alpha, __global const real* a,
          const ulong a_rows, const ulong a_columns, __global const real* b, const ulong b_rows,
          const ulong b_columns, const real beta, __global real* c, const ulong m, const ulong n) {
  __local real slice_a[DEPTH][TILE];
  __local real slice_b[DEPTH][TILE];
  tile_product(transpose_a, transpose_b, 0, m, n, transpose_a ? a_rows : a_columns, alpha, a, b, beta, c,
               get_group_id(1), get_group_id(0), slice_a, slice_b);
}
)";

NdRange gemm_range(std::span<const Argument> arguments) {
  const Sizes sizes = check_shapes(scalar<Transpose>(arguments[0]), scalar<Transpose>(arguments[1]),
                                   shape_of(arguments[3]), shape_of(arguments[4]), shape_of(arguments[6]));
  return tile_range(sizes.m, sizes.n);
}

template <class T>
void gemm_dpu(dpu::Tasklet& tasklet, Transpose transpose_a, Transpose transpose_b, T alpha,
              dpu::Mram<const T, 2> a, dpu::Mram<const T, 2> b, T beta, dpu::Mram<T, 2> c) {
  check_shapes(transpose_a, transpose_b, shape_of(a), shape_of(b), shape_of(c));
  RowProduct<T> product(tasklet, transpose_a, transpose_b, alpha, a, b, beta, c);
  dpu::for_each_row(tasklet, c.rows(), [&](std::size_t row) { product.compute(row, c.extent(1)); });
}

}  // namespace

template <Real T>
const Codelet<void(Transpose, Transpose, T, View<const T, 2>, View<const T, 2>, T, View<T, 2>)>& gemm() {
  static const auto codelet =
      Codelet{typed_name<T>("gemm"), cpu(gemm_cpu<T>),
              opencl{opencl_source<T>(std::string(kTileProductSource) + kSource), "gemm", gemm_range},
              pim(gemm_dpu<T>)
                  .template wants<T>(3, Layout::BankReplicated)
                  .template wants<T>(4, Layout::BankReplicated)}
          .with_work([](std::span<const Shape> shapes) {
            const double a = elements_of(shapes[3]);
            const double c = elements_of(shapes[6]);
            // op(A) is m x k, so that its elements times the columns of C are m n k.
            return Work{2.0 * a * static_cast<double>(shapes[6].extent[1]),
                        bytes_of<T>(a + elements_of(shapes[4]) + 2.0 * c)};
          });
  return codelet;
}

template const Codelet<void(Transpose, Transpose, float, View<const float, 2>, View<const float, 2>, float,
                            View<float, 2>)>&
gemm<float>();
template const Codelet<void(Transpose, Transpose, double, View<const double, 2>, View<const double, 2>,
                            double, View<double, 2>)>&
gemm<double>();

}  // namespace hocket::kernels
