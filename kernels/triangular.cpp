// SPDX-License-Identifier: Apache-2.0
#include "triangular.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "blas.hpp"

namespace hocket::kernels {
namespace {

/// Orders up to which a triangle is solved here, and factored by OpenBLAS.
constexpr int kTriangle = 32;
constexpr int kFactor = 64;

constexpr std::size_t kVectorBytes = 64;

/// As many elements as the widest registers hold; the compiler splits it where there are narrower ones only.
template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type __attribute__((vector_size(kVectorBytes))) = float;
};
template <>
struct VectorOf<double> {
  using Type __attribute__((vector_size(kVectorBytes))) = double;
};

constexpr int kVectors = 4;
/// Rows of B that are solved at once, one in each lane.
template <class T>
constexpr int kLanes = kVectors* static_cast<int>(kVectorBytes / sizeof(T));

/// Solves for `rows` <= kLanes<T> rows of B and n <= kTriangle. The rows are laid side by side, so that
/// one step of the substitution is the same operation on all of them.
template <class T>
[[gnu::always_inline]] inline void solve_rows(int rows, int n, const T* l, int ldl, const T* inverse, T* b,
                                              int ldb) {
  using Vector = typename VectorOf<T>::Type;
  union Column {
    std::array<T, kLanes<T>> element;
    std::array<Vector, kVectors> vector;
  };
  alignas(kVectorBytes) std::array<Column, kTriangle> x;
  for (int i = 0; i < kLanes<T>; ++i) {
    const T* const row =
        b + static_cast<std::ptrdiff_t>(std::min(i, rows - 1)) * ldb;  // fills up with the last one
    for (int j = 0; j < n; ++j) x[static_cast<std::size_t>(j)].element[static_cast<std::size_t>(i)] = row[j];
  }
  for (int j = 0; j < n; ++j) {
    const T* const factors = l + static_cast<std::ptrdiff_t>(j) * ldl;
    Column& unknown = x[static_cast<std::size_t>(j)];
    Vector v0 = unknown.vector[0];
    Vector v1 = unknown.vector[1];
    Vector v2 = unknown.vector[2];
    Vector v3 = unknown.vector[3];
    for (int k = 0; k < j; ++k) {
      const Column& known = x[static_cast<std::size_t>(k)];
      v0 -= factors[k] * known.vector[0];
      v1 -= factors[k] * known.vector[1];
      v2 -= factors[k] * known.vector[2];
      v3 -= factors[k] * known.vector[3];
    }
    unknown.vector = {v0 * inverse[j], v1 * inverse[j], v2 * inverse[j], v3 * inverse[j]};
  }
  for (int i = 0; i < rows; ++i) {
    T* const row = b + static_cast<std::ptrdiff_t>(i) * ldb;
    for (int j = 0; j < n; ++j) row[j] = x[static_cast<std::size_t>(j)].element[static_cast<std::size_t>(i)];
  }
}

template <class T>
[[gnu::always_inline]] inline void solve_triangle(int m, int n, const T* l, int ldl, T* b, int ldb) {
  std::array<T, kTriangle> inverse;
  for (int j = 0; j < n; ++j)
    inverse[static_cast<std::size_t>(j)] = T{1} / l[static_cast<std::ptrdiff_t>(j) * ldl + j];
  for (int i = 0; i < m; i += kLanes<T>)
    solve_rows(std::min(kLanes<T>, m - i), n, l, ldl, inverse.data(),
               b + static_cast<std::ptrdiff_t>(i) * ldb, ldb);
}

// One copy for each generation of vector instructions. The choice is made at run time and in the open: resolvers
// of the dynamic linker would run before sanitizers are set up.
#if defined(__x86_64__)
template <class T>
[[gnu::target("avx512f,avx512vl,avx512dq,fma")]] void solve_triangle_512(int m, int n, const T* l, int ldl,
                                                                         T* b, int ldb) {
  solve_triangle(m, n, l, ldl, b, ldb);
}
template <class T>
[[gnu::target("avx2,fma")]] void solve_triangle_256(int m, int n, const T* l, int ldl, T* b, int ldb) {
  solve_triangle(m, n, l, ldl, b, ldb);
}
#endif
template <class T>
void solve_triangle_plain(int m, int n, const T* l, int ldl, T* b, int ldb) {
  solve_triangle(m, n, l, ldl, b, ldb);
}

template <class T>
auto best_solve_triangle() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return &solve_triangle_512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &solve_triangle_256<T>;
#endif
  return &solve_triangle_plain<T>;
}

/// Where to divide n: near the middle, at a multiple of the triangles solved here.
int half_of(int n) noexcept { return (n / 2 + kTriangle - 1) / kTriangle * kTriangle; }

template <class T>
void solve(int m, int n, const T* l, int ldl, T* b, int ldb) {
  if (n <= kTriangle) {
    static const auto solve_small = best_solve_triangle<T>();
    solve_small(m, n, l, ldl, b, ldb);
    return;
  }
  const int half = half_of(n);
  const T* const below = l + static_cast<std::ptrdiff_t>(half) * ldl;
  solve(m, half, l, ldl, b, ldb);
  blas::gemm(CblasNoTrans, CblasTrans, m, n - half, half, T{-1}, b, ldb, below, ldl, T{1}, b + half, ldb);
  solve(m, n - half, below + half, ldl, b + half, ldb);
}

template <class T>
int factor(int n, T* a, int lda) {
  if (n <= kFactor) return blas::potrf_lower(n, a, lda);
  const int half = half_of(n);
  T* const below = a + static_cast<std::ptrdiff_t>(half) * lda;
  if (const int info = factor(half, a, lda); info != 0) return info;
  solve(n - half, half, a, lda, below, lda);
  blas::syrk_lower(n - half, half, T{-1}, below, lda, T{1}, below + half, lda);
  const int info = factor(n - half, below + half, lda);
  return info == 0 ? 0 : half + info;
}

}  // namespace

void solve_right_transposed(int m, int n, const float* l, int ldl, float* b, int ldb) {
  solve(m, n, l, ldl, b, ldb);
}
void solve_right_transposed(int m, int n, const double* l, int ldl, double* b, int ldb) {
  solve(m, n, l, ldl, b, ldb);
}
int factor_lower(int n, float* a, int lda) { return factor(n, a, lda); }
int factor_lower(int n, double* a, int lda) { return factor(n, a, lda); }

}  // namespace hocket::kernels
