// SPDX-License-Identifier: Apache-2.0
/// The main program of each runtime: reads the options, warms up, measures, checks the result, and prints one line
/// of JSON. A runtime brings two classes:
///
///   Session(const Options&)            starts the runtime; ends it when destroyed.
///   Solver<T>(Session&, const Options&, Operands<T>&), with run(): solves the problem once, from the first
///                                      submission to the end of the last task.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "dense/matrix.hpp"
#include "dense/options.hpp"

namespace hocket::bench::dense {

/// The matrices of a problem: C := A B, or A in and L out. `c` is what is computed.
template <class T>
struct Operands {
  Operands(const Options& options, std::size_t n)
      : a(n, options.tile, options.storage), c(n, options.tile, options.storage) {
    const bool product = options.problem == "gemm";
    a.fill(1, !product);
    if (product) {
      b = std::make_unique<Matrix<T>>(n, options.tile, options.storage);
      b->fill(2, false);
    }
  }
  void restore() {
    if (b == nullptr) c.copy(a);
  }
  /// Relative to what rounding explains; above 1 the result is wrong. NaN is wrong, too.
  double residual() const {
    const double limit =
        4 * std::sqrt(static_cast<double>(a.n())) * static_cast<double>(std::numeric_limits<T>::epsilon());
    return (b != nullptr ? product_residual(a, *b, c) : factor_residual(a, c)) / limit;
  }

  Matrix<T> a;
  std::unique_ptr<Matrix<T>> b;
  Matrix<T> c;
};

inline double flops(const Options& options) {
  const auto n = static_cast<double>(options.n);
  return options.problem == "gemm" ? 2 * n * n * n : n * n * n / 3;
}

template <class Session, template <class> class Solver, class T>
void measure(const Options& options) {
  Session session(options);
  {
    // Starts threads, loads code, sets up the buffers of OpenBLAS.
    Options small = options;
    small.n = options.tile * std::min<std::size_t>(options.n / options.tile, 4);
    Operands<T> operands(small, small.n);
    operands.restore();
    Solver<T>(session, small, operands).run();
  }
  Operands<T> operands(options, options.n);
  std::vector<double> seconds;
  {
    Solver<T> solver(session, options, operands);
    double sum = 0.0;
    while (static_cast<int>(seconds.size()) < options.at_least || sum < options.for_seconds) {
      operands.restore();
      const auto begin = std::chrono::steady_clock::now();
      solver.run();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      sum += seconds.back();
    }
  }
  const double residual = operands.residual();
  std::printf("{\"core\": \"%s\", \"residual\": %.3g, \"gflops\": [", openblas_get_corename(), residual);
  for (std::size_t i = 0; i < seconds.size(); ++i)
    std::printf("%s%.3f", i == 0 ? "" : ", ", flops(options) / seconds[i] * 1e-9);
  std::printf("]}\n");
  if (!(residual <= 1.0))
    throw std::runtime_error("the result is wrong: its residual is above what rounding explains");
}

template <class Session, template <class> class Solver>
int dense_main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (options.type == "float")
      measure<Session, Solver, float>(options);
    else
      measure<Session, Solver, double>(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace hocket::bench::dense
