// SPDX-License-Identifier: Apache-2.0
/// The two kernels of a tiled Cholesky factorisation that BLAS libraries are slow at on tiles: a triangular solve
/// and the factorisation itself. Both divide in halves, so that nearly all of their work is matrix products of
/// OpenBLAS; what remains are blocks next to the diagonal, solved here in vector registers. Row-major; L is lower
/// triangular, and what lies above its diagonal is not read. Callable from any thread.
#pragma once

namespace hocket::kernels {

/// B := B L^-T; B is m x n, L n x n.
void solve_right_transposed(int m, int n, const float* l, int ldl, float* b, int ldb);
void solve_right_transposed(int m, int n, const double* l, int ldl, double* b, int ldb);

/// The lower triangle of A, n x n, becomes L with A = L L^T. Returns 0, or the order of the leading minor that is
/// not positive.
int factor_lower(int n, float* a, int lda);
int factor_lower(int n, double* a, int lda);

}  // namespace hocket::kernels
