// SPDX-License-Identifier: Apache-2.0
/// How long the emulated device would take: closed forms for a launch and for host transfers, in the units of
/// the hardware that they describe (UPMEM v1A). Pure functions, callable from any thread.
///
/// Expect errors of about 25 % for a kernel that has not been calibrated against hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/types.hpp>
#include <span>

namespace hocket::dpu {

/// DPU clock of UPMEM's v1A modules (SDK documentation).
inline constexpr double kClockHertz = 350e6;
/// A tasklet issues one instruction every 11 cycles (the pipeline's depth before it may be re-entered), so
/// that a DPU reaches one instruction per cycle with 11 tasklets or more.
inline constexpr std::uint64_t kIssueInterval = 11;
/// A DMA transfer of B bytes takes alpha + B / 2 cycles (PrIM, section 3.2.1).
inline constexpr std::uint64_t kDmaReadSetupCycles = 77;
inline constexpr std::uint64_t kDmaWriteSetupCycles = 61;
/// Instructions that each tasklet spends in a barrier: take its lock, count, stop or wake the others. An
/// estimate from the shape of the software barrier, not a measurement.
inline constexpr std::uint64_t kBarrierInstructions = 10;
/// Acquiring or releasing a free mutex is one instruction.
inline constexpr std::uint64_t kMutexInstructions = 1;
/// Time from the host's call to the first instruction and back. Median intercept of time against size over
/// the 11 kernels that fit a line in uPIMulator's published hardware measurements (their range is 136 us
/// to 1.2 ms).
inline constexpr Seconds kLaunchSeconds{200e-6};

constexpr std::uint64_t dma_read_cycles(std::size_t bytes) noexcept {
  return kDmaReadSetupCycles + bytes / 2;
}
constexpr std::uint64_t dma_write_cycles(std::size_t bytes) noexcept {
  return kDmaWriteSetupCycles + bytes / 2;
}

/// What one tasklet did in a launch.
struct TaskletWork {
  std::uint64_t instructions = 0;
  std::uint64_t dma_cycles = 0;
};

/// Cycles of one DPU whose tasklets did `work` and met at `barriers` barriers: the largest of the pipeline's
/// time, the DMA engine's time (one engine, transfers in turn) and the longest tasklet's own chain, plus the
/// barriers.
std::uint64_t dpu_cycles(std::span<const TaskletWork> work, std::uint64_t barriers) noexcept;

/// A launch takes as long as its slowest DPU.
Seconds launch_seconds(std::uint64_t longest_dpu_cycles) noexcept;

/// DPUs that the host reaches together; ranks transfer in parallel.
inline constexpr unsigned kRankDpus = 64;
/// Fixed cost of a host transfer: small transfers take 0.13 to 0.2 ms in uPIMulator's hardware measurements.
inline constexpr Seconds kTransferSeconds{130e-6};

enum class TransferKind : std::uint8_t {
  ToDpus,    ///< A different part to each DPU.
  FromDpus,  ///< A part from each DPU.
  Broadcast  ///< The same bytes to every DPU.
};

/// Bytes per second that one rank moves when `dpus` (1 to 64) of its DPUs take part. Between the measured
/// ends (one DPU: 0.33 GB/s to it, 0.12 from it; a full rank: 6.68, 4.74, broadcast 16.88 - PrIM) it grows by
/// a power law.
double rank_bytes_per_second(TransferKind kind, unsigned dpus) noexcept;

/// Time to move `bytes_each` between the host and each of `dpus` DPUs.
Seconds transfer_seconds(TransferKind kind, unsigned dpus, std::size_t bytes_each) noexcept;

}  // namespace hocket::dpu
