// SPDX-License-Identifier: Apache-2.0
/// The compiled half of <hocket/dpu.hpp>: what a program asks of its DPU, and transfers made of several.
#include <algorithm>
#include <cstring>
#include <hocket/dpu.hpp>
#include <string>

#include "pim/dpu_execution.hpp"

namespace hocket::dpu {
namespace {

constexpr MramAddress granule_start(MramAddress address) noexcept {
  return address / kDmaGranuleBytes * kDmaGranuleBytes;
}

}  // namespace

void Tasklet::barrier() { execution_.barrier(*this); }
void Tasklet::lock(unsigned mutex) { execution_.lock(*this, mutex); }
void Tasklet::unlock(unsigned mutex) { execution_.unlock(*this, mutex); }

void* Tasklet::allocate(std::size_t count, std::size_t element_bytes, std::size_t more_bytes) {
  return execution_.allocate(*this, count, element_bytes, more_bytes);
}
void* Tasklet::shared_block(unsigned slot, std::size_t count, std::size_t element_bytes) {
  return execution_.shared_block(*this, slot, count, element_bytes);
}
void Tasklet::dma_read(MramAddress address, void* wram, std::size_t bytes) {
  execution_.dma(*this, true, address, wram, bytes);
}
void Tasklet::dma_write(const void* wram, MramAddress address, std::size_t bytes) {
  execution_.dma(*this, false, address, wram, bytes);
}

void Tasklet::stream_in(MramAddress address, void* wram, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += kDmaMaximumBytes) {
    dma_read(address + static_cast<MramAddress>(done), static_cast<std::byte*>(wram) + done,
             std::min(bytes - done, kDmaMaximumBytes));
  }
}

void Tasklet::stream_out(const void* wram, MramAddress address, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += kDmaMaximumBytes) {
    dma_write(static_cast<const std::byte*>(wram) + done, address + static_cast<MramAddress>(done),
              std::min(bytes - done, kDmaMaximumBytes));
  }
}

void Tasklet::check_capacity(MramAddress address, std::size_t bytes, std::size_t capacity_bytes) const {
  if (bytes > capacity_bytes) {
    throw WramError(detail::DpuExecution::where(*this) + "a range of " + std::to_string(bytes) +
                    " bytes at MRAM address " + std::to_string(address) + " does not fit a buffer of " +
                    std::to_string(capacity_bytes) + " bytes; move it in blocks, or ask for a larger buffer");
  }
}

void Tasklet::throw_beyond(const char* access, std::size_t first, std::size_t count, std::size_t size) const {
  throw ProgramError(detail::DpuExecution::where(*this) + "a " + access + " of " + std::to_string(count) +
                     " elements from element " + std::to_string(first) + " on reaches beyond the " +
                     std::to_string(size) + " elements that this bank holds; stay within Mram::size()");
}

void Tasklet::load_covering(MramAddress address, std::byte* wram, std::size_t bytes,
                            std::size_t capacity_bytes) {
  check_capacity(address, bytes, capacity_bytes);
  if (bytes == 0) return;
  const MramAddress start = granule_start(address);
  stream_in(start, wram, round_up_to_granule(address - start + bytes));
}

void Tasklet::store_exactly(const std::byte* wram, MramAddress address, std::size_t bytes,
                            std::byte* granule) {
  // On hardware, tasklets that share a granule would take a mutex around this read and write. Here a tasklet
  // is not interrupted between them.
  const auto merge = [&](MramAddress start, const std::byte* source, std::size_t skip, std::size_t length) {
    dma_read(start, granule, kDmaGranuleBytes);
    std::memcpy(granule + skip, source + skip, length);
    dma_write(granule, start, kDmaGranuleBytes);
  };
  const std::size_t skip = address % kDmaGranuleBytes;
  MramAddress start = granule_start(address);
  if (skip != 0) {
    const std::size_t length = std::min(bytes, kDmaGranuleBytes - skip);
    if (length != 0) merge(start, wram, skip, length);
    bytes -= length;
    start += kDmaGranuleBytes;
    wram += kDmaGranuleBytes;
  }
  const std::size_t whole = bytes / kDmaGranuleBytes * kDmaGranuleBytes;
  stream_out(wram, start, whole);
  if (bytes != whole) {
    merge(start + static_cast<MramAddress>(whole), wram + whole, 0, bytes - whole);
  }
}

}  // namespace hocket::dpu
