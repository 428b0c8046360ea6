// SPDX-License-Identifier: Apache-2.0
/// Hands out ranges of MRAM addresses. Allocation is symmetric, as on UPMEM: one range means the same
/// addresses in every bank. First fit over a list of free ranges that are merged when neighbours meet; O(free
/// ranges) each. Not synchronised.
#pragma once

#include <cstddef>
#include <hocket/dpu.hpp>
#include <map>

namespace hocket::dpu {

class MramAllocator {
 public:
  explicit MramAllocator(std::size_t bytes);

  /// A range of at least `bytes` (at least 8), 8-aligned. Throws OutOfMemory with the sizes.
  MramAddress allocate(std::size_t bytes);
  /// Gives back what `allocate` returned. Throws InvalidArgument for any other address.
  void release(MramAddress address);

  std::size_t capacity_bytes() const noexcept { return capacity_; }
  std::size_t free_bytes() const noexcept { return free_total_; }
  std::size_t largest_free_bytes() const noexcept;

 private:
  std::size_t capacity_;
  std::size_t free_total_;
  std::map<std::size_t, std::size_t> free_;  // first address -> bytes; never adjacent, never empty
  std::map<std::size_t, std::size_t> used_;
};

}  // namespace hocket::dpu
