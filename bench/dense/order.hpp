// SPDX-License-Identifier: Apache-2.0
/// In which order, and with which priorities, every peer is given the tasks: those of
/// `jobs::cholesky::submit_cholesky`, and for products an order that suits the cache.
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

/// Calls multiply(i, j, k, priority) for C(i, j) += A(i, k) B(k, j); k = 0 comes first and sets C. The tasks that
/// follow one another use the same A(i, k), and what is due for one k goes before the next: what a product reads is
/// packed before it computes, so that it should be in the cache, while C is used along with the computing. Going
/// through k for one C(i, j) after the other is 2 to 7 percent slower with tiles of 256.
template <class Multiply>
void for_each_product_task(std::size_t count, const Multiply& multiply) {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t j = 0; j < count; ++j) multiply(i, j, k, static_cast<int>(count - k));
}

}  // namespace hocket::bench::dense
