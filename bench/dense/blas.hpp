// SPDX-License-Identifier: Apache-2.0
/// The kernels that the peers' tasks call: the same OpenBLAS routines with the same arguments as the bundled
/// codelets of Hocket. Row-major; factors are lower triangular.
#pragma once

#include <cblas.h>

#include <cstddef>

// LAPACK's own symbols, which OpenBLAS carries. They are column-major: the row-major lower triangle is their
// upper one.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void spotrf_(const char* triangle, const int* n, float* a, const int* leading, int* info);
void dpotrf_(const char* triangle, const int* n, double* a, const int* leading, int* info);
}
// NOLINTEND(readability-identifier-naming)

namespace hocket::bench::dense {

/// C := alpha A op(B) + beta C, all n x n.
inline void gemm(int n, CBLAS_TRANSPOSE op, float alpha, const float* a, int lda, const float* b, int ldb,
                 float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, op, n, n, n, alpha, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(int n, CBLAS_TRANSPOSE op, double alpha, const double* a, int lda, const double* b, int ldb,
                 double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, op, n, n, n, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Lower triangle of C := C - A A^T.
inline void syrk(int n, const float* a, int lda, float* c, int ldc) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, -1.0F, a, lda, 1.0F, c, ldc);
}
inline void syrk(int n, const double* a, int lda, double* c, int ldc) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, -1.0, a, lda, 1.0, c, ldc);
}

/// B := B L^-T.
inline void trsm(int n, const float* l, int ldl, float* b, int ldb) {
  cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1.0F, l, ldl, b, ldb);
}
inline void trsm(int n, const double* l, int ldl, double* b, int ldb) {
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1.0, l, ldl, b, ldb);
}

/// A := L with A = L L^T. Returns 0, or the order of the leading minor that is not positive.
inline int potrf(int n, float* a, int lda) {
  int info = 0;
  spotrf_("U", &n, a, &lda, &info);
  return info;
}
inline int potrf(int n, double* a, int lda) {
  int info = 0;
  dpotrf_("U", &n, a, &lda, &info);
  return info;
}

}  // namespace hocket::bench::dense
