// SPDX-License-Identifier: Apache-2.0
/// Tiled Cholesky factorisation, A = L L^T, and the check of its result.
#pragma once

#include <cstdint>
#include <hocket/kernels.hpp>
#include <hocket/runtime.hpp>
#include <vector>

namespace hocket::jobs::cholesky {

/// Submits the tasks that turn the lower triangle of a matrix, given by its square tiles, into its Cholesky
/// factor; tiles above the diagonal are not used. Right-looking, with priorities that keep the next panel
/// ahead of the updates (the algorithm of A. Buttari, J. Langou, J. Kurzak, J. Dongarra, A class of parallel
/// tiled linear algebra algorithms for multicore architectures, Parallel Computing 35, 2009). Returns the
/// tasks that factor the diagonal tiles, in order. For T = float, double.
template <kernels::Real T>
std::vector<Task> submit_cholesky(Submitter& submitter, const Tiles<T, 2>& tiles);

/// Relative Frobenius norm |A - L L^T| / |A|, in double precision on the CPU cores, with plain BLAS and no
/// part of the runtime. `factor` holds L dense, n x n, zero above the diagonal; A is the matrix of
/// `spd_entry<T>`. Needs some rows of A at a time.
template <kernels::Real T>
double relative_residual(const std::vector<double>& factor, std::size_t n, std::uint64_t seed);

}  // namespace hocket::jobs::cholesky
