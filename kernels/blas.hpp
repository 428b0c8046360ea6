// SPDX-License-Identifier: Apache-2.0
/// OpenBLAS for row-major views, one name for both element types. Every call runs on one thread: the first of
/// them sets OpenBLAS to one thread for the whole process. Callable from any thread.
///
/// LAPACK is column-major: to it, the row-major lower triangle of a symmetric matrix is the upper one, and
/// the factor L with A = L L^T is its U with A = U^T U.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cstddef>
#include <hocket/kernels.hpp>
#include <limits>
#include <string>

// LAPACK's own symbols, which OpenBLAS carries: LAPACKE would copy row-major matrices.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void spotrf_(const char* triangle, const int* n, float* a, const int* leading, int* info);
void dpotrf_(const char* triangle, const int* n, double* a, const int* leading, int* info);
}
// NOLINTEND(readability-identifier-naming)

namespace hocket::kernels::blas {

inline void use_one_thread() {
  static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)once;
}

/// A size as BLAS takes it.
inline int size(std::size_t value) {
  if (value > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InvalidArgument("a matrix has " + std::to_string(value) +
                          " rows, columns or elements from row to row; OpenBLAS takes at most 2147483647");
  }
  return static_cast<int>(value);
}

template <class T>
int rows(const View<T, 2>& a) {
  return size(a.extent(0));
}
template <class T>
int columns(const View<T, 2>& a) {
  return size(a.extent(1));
}
/// Elements from row to row.
template <class T>
int leading(const View<T, 2>& a) {
  return size(std::max(a.stride(0), a.extent(1)));
}

inline CBLAS_TRANSPOSE flag(Transpose transpose) noexcept {
  return transpose == Transpose::Yes ? CblasTrans : CblasNoTrans;
}

inline void gemv(CBLAS_TRANSPOSE t, int m, int n, float alpha, const float* a, int lda, const float* x,
                 int incx, float beta, float* y, int incy) {
  use_one_thread();
  cblas_sgemv(CblasRowMajor, t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
inline void gemv(CBLAS_TRANSPOSE t, int m, int n, double alpha, const double* a, int lda, const double* x,
                 int incx, double beta, double* y, int incy) {
  use_one_thread();
  cblas_dgemv(CblasRowMajor, t, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a,
                 int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  use_one_thread();
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a,
                 int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  use_one_thread();
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

inline void syrk_lower(int n, int k, float alpha, const float* a, int lda, float beta, float* c, int ldc) {
  use_one_thread();
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, a, lda, beta, c, ldc);
}
inline void syrk_lower(int n, int k, double alpha, const double* a, int lda, double beta, double* c,
                       int ldc) {
  use_one_thread();
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, a, lda, beta, c, ldc);
}

inline void trsm_lower(CBLAS_SIDE side, CBLAS_TRANSPOSE t, int m, int n, const float* l, int ldl, float* b,
                       int ldb) {
  use_one_thread();
  cblas_strsm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, m, n, 1.0f, l, ldl, b, ldb);
}
inline void trsm_lower(CBLAS_SIDE side, CBLAS_TRANSPOSE t, int m, int n, const double* l, int ldl, double* b,
                       int ldb) {
  use_one_thread();
  cblas_dtrsm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, m, n, 1.0, l, ldl, b, ldb);
}

/// Returns LAPACK's `info`: 0, or the order of the leading minor that is not positive.
inline int potrf_lower(int n, float* a, int leading) {
  use_one_thread();
  int info = 0;
  spotrf_("U", &n, a, &leading, &info);
  return info;
}
inline int potrf_lower(int n, double* a, int leading) {
  use_one_thread();
  int info = 0;
  dpotrf_("U", &n, a, &leading, &info);
  return info;
}

}  // namespace hocket::kernels::blas
