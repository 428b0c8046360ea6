// SPDX-License-Identifier: Apache-2.0
/// Dense problems on OpenBLAS and its own threads, on the whole matrix (storage=whole, tile=n). The problem `peak`
/// multiplies on one thread matrices of a size that fits the cache well, n as given.
#include "dense/blas.hpp"
#include "dense/program.hpp"

namespace {

using namespace hocket::bench::dense;

class Session {
 public:
  explicit Session(const Options& options) {
    if (options.tile != options.n)
      throw std::invalid_argument("OpenBLAS takes the whole matrix: tile must be n");
    openblas_set_num_threads(static_cast<int>(options.workers));
  }
};

template <class T>
class Solver {
 public:
  Solver(Session&, const Options&, Operands<T>& operands) : operands_(operands) {}

  void run() {
    const auto n = static_cast<int>(operands_.c.n());
    T* const c = operands_.c.at(0, 0);
    if (operands_.b != nullptr)
      gemm(n, CblasNoTrans, T{1}, operands_.a.at(0, 0), n, operands_.b->at(0, 0), n, T{0}, c, n);
    else
      static_cast<void>(potrf(n, c, n));  // a wrong factor shows in the residual
  }

 private:
  Operands<T>& operands_;
};

}  // namespace

int main(int argc, char** argv) { return dense_main<Session, Solver>(argc, argv); }
