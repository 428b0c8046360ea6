// SPDX-License-Identifier: Apache-2.0
/// The MRAM banks of a set of DPUs: one address range per DPU, whose pages the operating system provides when
/// they are first touched (reading as zero), so that thousands of unused banks cost nothing. Owned by the
/// set; access is not synchronised. Throws DeviceError when the address space cannot be reserved.
#pragma once

#include <cstddef>

namespace hocket::dpu {

class MramBanks {
 public:
  MramBanks(unsigned count, std::size_t bytes_each);
  ~MramBanks();
  MramBanks(const MramBanks&) = delete;
  MramBanks& operator=(const MramBanks&) = delete;

  unsigned count() const noexcept { return count_; }
  std::size_t bytes_each() const noexcept { return bytes_each_; }
  std::byte* bank(unsigned dpu) const noexcept { return memory_ + dpu * bytes_each_; }

 private:
  unsigned count_;
  std::size_t bytes_each_;
  std::byte* memory_;
};

}  // namespace hocket::dpu
