// SPDX-License-Identifier: Apache-2.0
#include "pim/cycle_model.hpp"

#include <algorithm>
#include <cmath>

namespace hocket::dpu {

std::uint64_t dpu_cycles(std::span<const TaskletWork> work, std::uint64_t barriers) noexcept {
  if (work.empty()) return 0;
  const std::uint64_t tasklets = work.size();
  const auto pipeline_cycles = [tasklets](std::uint64_t instructions) {
    return tasklets >= kIssueInterval ? instructions
                                      : (instructions * kIssueInterval + tasklets - 1) / tasklets;
  };
  std::uint64_t instructions = 0;
  std::uint64_t dma = 0;
  std::uint64_t chain = 0;
  for (const TaskletWork& tasklet : work) {
    instructions += tasklet.instructions;
    dma += tasklet.dma_cycles;
    chain = std::max(chain, tasklet.instructions * kIssueInterval + tasklet.dma_cycles);
  }
  return std::max({pipeline_cycles(instructions), dma, chain}) +
         barriers * pipeline_cycles(kBarrierInstructions * tasklets);
}

Seconds launch_seconds(std::uint64_t longest_dpu_cycles) noexcept {
  return kLaunchSeconds + Seconds{static_cast<double>(longest_dpu_cycles) / kClockHertz};
}

double rank_bytes_per_second(TransferKind kind, unsigned dpus) noexcept {
  struct Ends {
    double one_dpu;
    double full_rank;
  };
  constexpr Ends kEnds[] = {{0.33e9, 6.68e9}, {0.12e9, 4.74e9}, {0.33e9, 16.88e9}};
  const Ends ends = kEnds[static_cast<std::size_t>(kind)];
  const double exponent = std::log(ends.full_rank / ends.one_dpu) / std::log(static_cast<double>(kRankDpus));
  return ends.one_dpu * std::pow(static_cast<double>(dpus), exponent);
}

Seconds transfer_seconds(TransferKind kind, unsigned dpus, std::size_t bytes_each) noexcept {
  if (dpus == 0 || bytes_each == 0) return Seconds{0.0};
  const auto rank_seconds = [&](unsigned members) {
    const double bytes = static_cast<double>(bytes_each) * members;
    return Seconds{bytes / rank_bytes_per_second(kind, members)};
  };
  // A part-filled rank moves less but also slower; whichever rank is last decides.
  Seconds longest{0.0};
  if (dpus >= kRankDpus) longest = rank_seconds(kRankDpus);
  if (dpus % kRankDpus != 0) longest = std::max(longest, rank_seconds(dpus % kRankDpus));
  return kTransferSeconds + longest;
}

}  // namespace hocket::dpu
