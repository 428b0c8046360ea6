// SPDX-License-Identifier: Apache-2.0
/// In which order, and with which priorities, every peer is given the tasks: those of
/// `jobs::cholesky::submit_cholesky`, and for products one chain of updates after the other.
#pragma once

#include <cstddef>

namespace hocket::bench::dense {

/// Calls to.potrf(k, priority), to.trsm(i, k, priority), to.syrk(i, k, priority) and to.gemm(i, j, k, priority)
/// in the order of the right-looking algorithm on `count` x `count` tiles.
template <class To>
void for_each_cholesky_task(std::size_t count, To& to) {
  const auto priority = [count](std::size_t panel, int step) {
    return 3 * static_cast<int>(count - panel) + step;
  };
  for (std::size_t k = 0; k < count; ++k) {
    to.potrf(k, priority(k, 2));
    for (std::size_t i = k + 1; i < count; ++i) to.trsm(i, k, priority(k, 1));
    for (std::size_t i = k + 1; i < count; ++i) {
      to.syrk(i, k, priority(i, 2));
      for (std::size_t j = k + 1; j < i; ++j) to.gemm(i, j, k, priority(j, 0));
    }
  }
}

/// Calls multiply(i, j, k) for C(i, j) += A(i, k) B(k, j); k = 0 comes first and sets C.
template <class Multiply>
void for_each_product_task(std::size_t count, const Multiply& multiply) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t k = 0; k < count; ++k) multiply(i, j, k);
}

}  // namespace hocket::bench::dense
