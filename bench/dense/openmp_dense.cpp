// SPDX-License-Identifier: Apache-2.0
/// Dense problems on OpenMP tasks with `depend` clauses. Wants OMP_MAX_TASK_PRIORITY for the priorities to count.
#include <omp.h>

#include "dense/blas.hpp"
#include "dense/order.hpp"
#include "dense/program.hpp"

namespace {

using namespace hocket::bench::dense;

class Session {
 public:
  explicit Session(const Options& options) {
    openblas_set_num_threads(1);
    omp_set_num_threads(static_cast<int>(options.workers));
  }
};

/// Makes the tasks of a factorisation.
template <class T>
class CholeskyTasks {
 public:
  explicit CholeskyTasks(const Matrix<T>& c)
      : c_(c), n_(static_cast<int>(c.tile())), ld_(static_cast<int>(c.stride())) {}

  void potrf(std::size_t k, int urgency) {
    T* const a = c_.at(k, k);
    const int n = n_;
    const int ld = ld_;
#pragma omp task depend(inout : a[0]) priority(urgency) firstprivate(a, n, ld)
    dense_potrf(n, a, ld);
  }
  void trsm(std::size_t i, std::size_t k, int urgency) {
    const T* const l = c_.at(k, k);
    T* const b = c_.at(i, k);
    const int n = n_;
    const int ld = ld_;
#pragma omp task depend(in : l[0]) depend(inout : b[0]) priority(urgency) firstprivate(l, b, n, ld)
    hocket::bench::dense::trsm(n, l, ld, b, ld);
  }
  void syrk(std::size_t i, std::size_t k, int urgency) {
    const T* const a = c_.at(i, k);
    T* const c = c_.at(i, i);
    const int n = n_;
    const int ld = ld_;
#pragma omp task depend(in : a[0]) depend(inout : c[0]) priority(urgency) firstprivate(a, c, n, ld)
    hocket::bench::dense::syrk(n, a, ld, c, ld);
  }
  void gemm(std::size_t i, std::size_t j, std::size_t k, int urgency) {
    const T* const a = c_.at(i, k);
    const T* const b = c_.at(j, k);
    T* const c = c_.at(i, j);
    const int n = n_;
    const int ld = ld_;
#pragma omp task depend(in : a[0], b[0]) depend(inout : c[0]) priority(urgency) firstprivate(a, b, c, n, ld)
    hocket::bench::dense::gemm(n, CblasTrans, T{-1}, a, ld, b, ld, T{1}, c, ld);
  }

 private:
  // A wrong matrix shows in the residual.
  static void dense_potrf(int n, T* a, int ld) { static_cast<void>(hocket::bench::dense::potrf(n, a, ld)); }

  const Matrix<T>& c_;
  int n_;
  int ld_;
};

template <class T>
void multiply(const Matrix<T>& a_matrix, const Matrix<T>& b_matrix, const Matrix<T>& c_matrix) {
  const int n = static_cast<int>(c_matrix.tile());
  const int ld = static_cast<int>(c_matrix.stride());
  for_each_product_task(c_matrix.count(), [&](std::size_t i, std::size_t j, std::size_t k, int urgency) {
    const T* const a = a_matrix.at(i, k);
    const T* const b = b_matrix.at(k, j);
    T* const c = c_matrix.at(i, j);
    const T beta = k == 0 ? T{0} : T{1};
#pragma omp task depend(in                         \
                        : a[0], b[0]) depend(inout \
                                             : c[0]) priority(urgency) firstprivate(a, b, c, n, ld, beta)
    gemm(n, CblasNoTrans, T{1}, a, ld, b, ld, beta, c, ld);
  });
}

template <class T>
class Solver {
 public:
  Solver(Session&, const Options&, Operands<T>& operands) : operands_(operands) {}

  void run() {
#pragma omp parallel
#pragma omp single
    {
      if (operands_.b != nullptr) {
        multiply(operands_.a, *operands_.b, operands_.c);
      } else {
        CholeskyTasks<T> tasks(operands_.c);
        for_each_cholesky_task(operands_.c.count(), tasks);
      }
    }
  }

 private:
  Operands<T>& operands_;
};

}  // namespace

int main(int argc, char** argv) { return dense_main<Session, Solver>(argc, argv); }
