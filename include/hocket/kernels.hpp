// SPDX-License-Identifier: Apache-2.0
/// The bundled codelets. Each runs on CPU cores, on OpenCL devices and on PIM devices, and gives the same
/// result on all of them up to rounding.
///
///   rt.submit(kernels::gemm<double>(), Transpose::No, Transpose::Yes, -1.0, a, b, 1.0, c);
///
/// Every function returns a reference to one codelet that lives until the program ends; it is made at the
/// first call and may be used by any threads. `T` is `float` or `double`. Matrices are row-major and may be
/// parts of larger ones (`Data::tiles`, `Data::block`).
///
/// Errors. Arguments whose shapes do not fit together fail the task with `InvalidArgument`, on every device,
/// and the message gives the shapes. On a PIM device what a program throws is nested in a `dpu::LaunchError`.
///
/// Threads. Dense kernels on the CPU call OpenBLAS with one thread for each task, since the runtime already
/// keeps every core busy: the first of them sets OpenBLAS to one thread for the whole process.
///
/// Work. Each states its flops and bytes to cost models and reports; the flops are given below.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <hocket/codelet.hpp>

namespace hocket::kernels {

/// The element types that the bundled kernels are built for.
template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;

/// Whether a matrix takes part as it is or transposed.
enum class Transpose : std::uint32_t { No, Yes };

/// The triangular systems that `trsm` solves, L being lower triangular.
enum class Solve : std::uint32_t {
  Left,             ///< B := L^-1 B
  LeftTransposed,   ///< B := L^-T B
  Right,            ///< B := B L^-1
  RightTransposed,  ///< B := B L^-T
};

/// A matrix cannot be factored by `potrf`: it is not positive definite, or its entries are not numbers.
class NotPositiveDefinite : public Error {
 public:
  explicit NotPositiveDefinite(std::size_t column);
  /// Index from 0 of the first column whose pivot is not positive.
  std::size_t column() const noexcept { return column_; }

 private:
  std::size_t column_;
};

/// Covariance of a series with a trend, a season and noise, as a function of the distance d of two times:
///
///   trend^2 exp(-d^2 / 2 trend_years^2)
///     + season^2 exp(-d^2 / 2 season_decay_years^2 - 2 sin^2(pi d / period_years) / season_smoothness^2)
///     + medium^2 exp(-d^2 / 2 medium_years^2)
///
/// plus noise^2 where both are one and the same observation (C. E. Rasmussen and C. K. I. Williams, Gaussian
/// Processes for Machine Learning, 2006, section 5.4.3, slightly simplified). Amplitudes are standard
/// deviations in the unit of the series; lengths are in the unit of the times, by name years, and must not be
/// 0.
template <Real T>
struct Covariance {
  T trend = 0;
  T trend_years = 1;
  T season = 0;
  T season_smoothness = 1;   ///< Without unit; large means close to a sine.
  T season_decay_years = 1;  ///< Over which the shape of the season changes.
  T period_years = 1;
  T medium = 0;
  T medium_years = 1;
  T noise = 0;
};

// ---- vectors -------------------------------------------------------------------------------------------------------

/// y[i] := value. No flops.
template <Real T>
const Codelet<void(T value, Out<T> y)>& fill();

/// y(i, j) := value. No flops.
template <Real T>
const Codelet<void(T value, Out<T, 2> y)>& fill_matrix();

/// y[i] := a x[i] + y[i]; x and y of the same size n. 2 n flops.
template <Real T>
const Codelet<void(T a, View<const T> x, View<T> y)>& axpy();

/// sum[0] := x[0] + ... + x[n - 1], in an order that depends on the device but not on the run; `sum` has one
/// element. n flops.
template <Real T>
const Codelet<void(View<const T> x, Out<T> sum)>& reduce();

/// Counts the elements of x in equal bins over [lo, hi]: bins[b] := how many lie in bin b. A value on the
/// edge of two bins belongs to the upper one, `hi` to the last. Values outside and those that are not numbers
/// are left out. Which of two bins takes a value within rounding of their edge may depend on the device.
/// Fails unless lo < hi and both are finite. 3 n flops.
template <Real T>
const Codelet<void(T lo, T hi, View<const T> x, Out<std::uint32_t> bins)>& histogram();

/// The same for the elements of a matrix, such as an image.
template <Real T>
const Codelet<void(T lo, T hi, View<const T, 2> x, Out<std::uint32_t> bins)>& histogram_matrix();

// ---- dense linear algebra ------------------------------------------------------------------------------------------

// Where beta is 0 the former contents of the result do not matter, even if they are not numbers.

/// y := alpha A x + beta y; A is m x n, x has n elements, y has m. 2 m n flops.
template <Real T>
const Codelet<void(T alpha, View<const T, 2> a, View<const T> x, T beta, View<T> y)>& gemv();

/// y := alpha A^T x + beta y; A is m x n, x has m elements, y has n. 2 m n flops.
template <Real T>
const Codelet<void(T alpha, View<const T, 2> a, View<const T> x, T beta, View<T> y)>& gemv_transposed();

/// C := alpha op(A) op(B) + beta C; op(A) is m x k, op(B) is k x n, C is m x n. 2 m n k flops. A PIM device
/// keeps A and B whole in every bank.
///
/// A product of tiles runs on the CPU at the speed of OpenBLAS from tiles of 1024 on; it loses a tenth with tiles of
/// 256, since every task packs its operands. Submitted so that neighbours share A(i, k), with k in descending
/// priority, it is some percent faster than one C(i, j) after the other.
template <Real T>
const Codelet<void(Transpose transpose_a, Transpose transpose_b, T alpha, View<const T, 2> a,
                   View<const T, 2> b, T beta, View<T, 2> c)>&
gemm();

/// The lower triangle of C := alpha A A^T + beta C; A is n x k, C is n x n. What lies above the diagonal of C
/// is neither read nor written. n (n + 1) k flops. A PIM device keeps A whole in every bank.
template <Real T>
const Codelet<void(T alpha, View<const T, 2> a, T beta, View<T, 2> c)>& syrk();

/// The lower triangle of the n x n matrix A becomes its Cholesky factor L with A = L L^T. What lies above the
/// diagonal is neither read nor written. n^3 / 3 flops.
///
/// A matrix that is not positive definite fails the task with `NotPositiveDefinite`, which names the column;
/// A is then partly factored. OpenCL kernels cannot fail: there the diagonal entry of that column and
/// everything from it on becomes NaN. A PIM device uses a single DPU.
template <Real T>
const Codelet<void(View<T, 2> a)>& potrf();

/// Solves a triangular system in place. L is n x n, and what lies above its diagonal is not read; B is n x m
/// for the forms `Left...`, m x n for `Right...`. n^2 m flops. A zero on the diagonal of L gives infinities
/// or NaN. A PIM device uses a single DPU.
template <Real T>
const Codelet<void(Solve form, View<const T, 2> l, View<T, 2> b)>& trsm();

// ---- others --------------------------------------------------------------------------------------------------------

/// A tile of a covariance matrix: k(i, j) := covariance of rows[i] and columns[j], with the noise added where
/// first_row + i = first_column + j. `first_row` and `first_column` are the places of the tile in the whole
/// matrix; for a cross-covariance of different series, set `noise` to 0. k is m x n with m times in `rows`
/// and n in `columns`. Counted as 50 m n flops, three exponentials and a sine of about ten each among them.
///
/// `T = float` resolves times of the size of a year number to an hour; shift them to begin near 0.
template <Real T>
const Codelet<void(Covariance<T> covariance, std::uint64_t first_row, std::uint64_t first_column,
                   View<const T> rows, View<const T> columns, Out<T, 2> k)>&
covariance_tile();

/// Weighted sums over neighbourhoods, as image filters do: result(i, j) := the sum over (u, v) of
/// stencil(u, v) image(i + u - U/2, j + v - V/2) for a U x V stencil, halves rounded down. The stencil is not
/// flipped. Past its border the image continues with its outermost row or column. The result has the shape of
/// the image. 2 m n U V flops. A PIM device keeps the image whole in every bank.
template <Real T>
const Codelet<void(View<const T, 2> stencil, View<const T, 2> image, Out<T, 2> result)>& convolve();

}  // namespace hocket::kernels
