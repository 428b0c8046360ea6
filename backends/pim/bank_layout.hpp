// SPDX-License-Identifier: Apache-2.0
/// Where the elements of an array lie in the banks of a DPU set, and copies of boxes between there and host
/// memory. Each bank's part is dense and row-major from the array's address on and padded to 8 bytes; see
/// `Layout` for what a part is. Functions run to their end on the calling thread, under `DpuSet`'s threading
/// rule, and return the modelled time.
#pragma once

#include <cstddef>
#include <hocket/dpu.hpp>
#include <hocket/format.hpp>
#include <hocket/types.hpp>

#include "pim/dpu_set.hpp"

namespace hocket::dpu {

/// An array in the banks. Plain data; the caller owns the range of addresses.
struct BankedArray {
  MramAddress address = 0;
  Shape shape;
  Format format;
};

/// A box of an array in host memory.
struct HostBox {
  std::byte* first = nullptr;  ///< The box's first element; only read by copies to the banks.
  Strides strides{};           ///< In elements.
};

/// Whether banks can hold data in that format; partial sums need elements that can be added.
bool is_bank_format(Format format) noexcept;

/// Bytes that an array takes in each bank, the same in all (allocation is symmetric).
std::size_t bytes_per_bank(const Shape& shape, Format format, unsigned dpus) noexcept;

/// Host to banks: `box` of `to`. Not for BankPartialSum (throws InvalidArgument).
Seconds copy_to_banks(DpuSet& set, const BankedArray& to, const Box& box, const HostBox& from);

/// Banks to host. Partial sums are added in the order of the DPUs: integers exactly (modulo their width),
/// floats with one rounding for each DPU, bf16 in f32 with one rounding at the end.
Seconds copy_from_banks(const DpuSet& set, const BankedArray& from, const Box& box, const HostBox& to);

/// Zeroes the array in every bank; the device does it to partial results before a launch that writes them.
/// Returns the modelled time of each DPU writing its bank by DMA.
Seconds zero_banks(DpuSet& set, const BankedArray& array);

}  // namespace hocket::dpu
