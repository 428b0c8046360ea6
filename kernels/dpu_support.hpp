// SPDX-License-Identifier: Apache-2.0
/// What the PIM variants share: block sizes and the modelled cost of operations that DPUs do in software.
///
/// WRAM. A tasklet may hold up to four buffers of a block each: 24 tasklets times 4 times about 530 bytes are
/// 51 of the 64 KiB.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hocket/pim.hpp>

namespace hocket::kernels {

/// Elements of a block that programs stream through WRAM: 512 bytes, where a DMA transfer's fixed cost is
/// down to a quarter of the whole.
template <class T>
inline constexpr std::size_t kBlock = 512 / sizeof(T);

/// Fetches one element from MRAM: an 8-byte transfer.
template <class T, class U, std::size_t Rank>
T load_element(dpu::WramBuffer<T>& buffer, const dpu::Mram<U, Rank>& part, std::size_t index) {
  return *buffer.load(part, index, 1);
}

/// Charges `count` multiplications with an addition each.
template <class T>
void charge_multiply_add(dpu::Tasklet& tasklet, std::uint64_t count) noexcept {
  tasklet.charge<T>(dpu::Operation::Multiply, count);
  tasklet.charge<T>(dpu::Operation::Add, count);
}

/// Charges `count` elementary functions (exponential, sine). An estimate, not a measurement: range reduction
/// and a polynomial of degree 7 or 13, as full precision in 32 or 64 bits takes.
template <class T>
void charge_elementary(dpu::Tasklet& tasklet, std::uint64_t count) noexcept {
  charge_multiply_add<T>(tasklet, count * (sizeof(T) == 8 ? 15 : 9));
}

/// Charges a square root: four Newton steps from a table, each a division and an addition. An estimate as
/// well.
template <class T>
void charge_square_root(dpu::Tasklet& tasklet) noexcept {
  tasklet.charge<T>(dpu::Operation::Divide, 4);
  tasklet.charge<T>(dpu::Operation::Add, 4);
}

}  // namespace hocket::kernels
