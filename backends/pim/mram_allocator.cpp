// SPDX-License-Identifier: Apache-2.0
#include "pim/mram_allocator.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace hocket::dpu {

MramAllocator::MramAllocator(std::size_t bytes) : capacity_(bytes), free_total_(bytes) {
  if (bytes != 0) free_.emplace(0, bytes);
}

MramAddress MramAllocator::allocate(std::size_t bytes) {
  // Compared before rounding, so that an absurd size cannot wrap around.
  const std::size_t needed =
      bytes > capacity_ ? bytes : std::max(round_up_to_granule(bytes), kDmaGranuleBytes);
  const auto fit = std::find_if(free_.begin(), free_.end(),
                                [needed](const auto& range) { return range.second >= needed; });
  if (fit == free_.end()) {
    throw OutOfMemory("pim: no room for " + std::to_string(needed) + " bytes in each MRAM bank: " +
                      std::to_string(free_total_) + " of " + std::to_string(capacity_) +
                      " bytes are free, the largest free range has " + std::to_string(largest_free_bytes()) +
                      "; use more DPUs, smaller tiles, or an interleaved instead of a replicated layout");
  }
  const auto [address, available] = *fit;
  free_.erase(fit);
  if (available > needed) free_.emplace(address + needed, available - needed);
  used_.emplace(address, needed);
  free_total_ -= needed;
  return static_cast<MramAddress>(address);
}

void MramAllocator::release(MramAddress address) {
  const auto found = used_.find(address);
  if (found == used_.end()) {
    throw InvalidArgument("pim: MRAM address " + std::to_string(address) +
                          " is not the start of an allocation; release each allocation once");
  }
  std::size_t first = found->first;
  std::size_t bytes = found->second;
  free_total_ += bytes;
  used_.erase(found);
  const auto next = free_.upper_bound(first);
  if (next != free_.end() && first + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.upper_bound(first);
  if (after != free_.begin()) {
    const auto previous = std::prev(after);
    if (previous->first + previous->second == first) {
      first = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  free_.emplace(first, bytes);
}

std::size_t MramAllocator::largest_free_bytes() const noexcept {
  std::size_t largest = 0;
  for (const auto& [address, bytes] : free_) largest = std::max(largest, bytes);
  return largest;
}

}  // namespace hocket::dpu
