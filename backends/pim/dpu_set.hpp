// SPDX-License-Identifier: Apache-2.0
/// The emulated device: a set of DPUs with their MRAM banks, launches and host transfers. Every call runs to
/// its end on the calling thread and returns the time that the hardware would have taken; the set is used by
/// one thread at a time. Nothing leads from bank to bank but through the host.
///
/// Host transfers obey the rule of the hardware: the MRAM address and the size are multiples of 8, the range
/// lies in the bank. A violation throws TransferError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/dpu.hpp>
#include <hocket/types.hpp>

#include "pim/cycle_model.hpp"
#include "pim/dpu_execution.hpp"
#include "pim/mram_banks.hpp"

namespace hocket::dpu {

class TransferError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// UPMEM's largest system has 2,560 DPUs.
inline constexpr unsigned kMaximumDpus = 2560;
inline constexpr unsigned kDefaultDpus = 64;

struct Configuration {
  unsigned dpus = kDefaultDpus;
  unsigned tasklets = kDefaultTasklets;
  std::size_t mram_bytes = kMramBytes;  ///< Of each bank; a multiple of 8.
};

struct LaunchReport {
  Seconds modelled{};
  std::uint64_t longest_dpu_cycles = 0;
  std::uint64_t instructions = 0;  ///< Over all DPUs, as are the next two.
  std::uint64_t dma_bytes = 0;
  std::uint64_t barriers = 0;
};

class DpuSet {
 public:
  /// Throws InvalidArgument for numbers that no device has.
  explicit DpuSet(const Configuration& configuration);

  unsigned dpus() const noexcept { return banks_.count(); }
  unsigned tasklets() const noexcept { return tasklets_; }
  std::size_t mram_bytes() const noexcept { return banks_.bytes_each(); }

  /// Runs the program on all tasklets of all DPUs. What it throws leaves the launch at the first failing DPU;
  /// the set stays usable, MRAM as the program left it.
  LaunchReport launch(const Program& program);

  /// Part d of `host` (`bytes_each` bytes from d * bytes_each on) goes to DPU d.
  Seconds scatter(MramAddress address, const void* host, std::size_t bytes_each);
  /// The reverse of `scatter`.
  Seconds gather(MramAddress address, void* host, std::size_t bytes_each) const;
  /// The same bytes to every DPU.
  Seconds broadcast(MramAddress address, const void* host, std::size_t bytes);
  Seconds copy_to(unsigned dpu, MramAddress address, const void* host, std::size_t bytes);
  Seconds copy_from(unsigned dpu, MramAddress address, void* host, std::size_t bytes) const;

  /// The bank's memory itself, for transfers that pack and unpack as they go.
  std::byte* bank(unsigned dpu) noexcept { return banks_.bank(dpu); }
  const std::byte* bank(unsigned dpu) const noexcept { return banks_.bank(dpu); }

 private:
  void check_transfer(const char* what, unsigned dpu, MramAddress address, std::size_t bytes) const;

  unsigned tasklets_;
  MramBanks banks_;
  detail::DpuExecution execution_;
};

}  // namespace hocket::dpu
