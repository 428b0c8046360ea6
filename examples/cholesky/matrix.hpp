// SPDX-License-Identifier: Apache-2.0
/// A random symmetric positive definite matrix that every device can build, tile by tile, to the last bit
/// alike.
#pragma once

#include <cstdint>
#include <hocket/kernels.hpp>

namespace hocket::jobs::cholesky {

/// Entry (row, column) of the matrix of order n: a number in [-1, 1) made of the seed and the two indices,
/// and n more on the diagonal, which makes the matrix diagonally dominant. Symmetric.
template <kernels::Real T>
T spd_entry(std::uint64_t seed, std::uint64_t n, std::uint64_t row, std::uint64_t column) noexcept;

/// Fills a tile whose first entry is (first_row, first_column). Variants for CPU, OpenCL and PIM.
template <kernels::Real T>
const Codelet<void(std::uint64_t seed, std::uint64_t n, std::uint64_t first_row, std::uint64_t first_column,
                   Out<T, 2> tile)>&
spd_tile();

}  // namespace hocket::jobs::cholesky
