// SPDX-License-Identifier: Apache-2.0
#include "pim/mram_banks.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <hocket/error.hpp>
#include <string>

namespace hocket::dpu {

MramBanks::MramBanks(unsigned count, std::size_t bytes_each) : count_(count), bytes_each_(bytes_each) {
  const std::size_t total = count * bytes_each;
  void* memory =
      ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceError("pim: cannot reserve " + std::to_string(total >> 20) + " MiB of address space for " +
                      std::to_string(count) + " MRAM banks: " + std::strerror(errno) +
                      "; ask for fewer DPUs (\"pim:N\") or lift the limit on address space (ulimit -v)");
  }
  memory_ = static_cast<std::byte*>(memory);
  // A huge page would commit 2 MiB in every bank for the first byte touched.
  ::madvise(memory_, total, MADV_NOHUGEPAGE);
  ::madvise(memory_, total, MADV_DONTDUMP);
}

MramBanks::~MramBanks() { ::munmap(memory_, count_ * bytes_each_); }

}  // namespace hocket::dpu
