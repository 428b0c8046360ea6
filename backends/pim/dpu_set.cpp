// SPDX-License-Identifier: Apache-2.0
#include "pim/dpu_set.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace hocket::dpu {
namespace {

const Configuration& checked(const Configuration& configuration) {
  if (configuration.dpus == 0 || configuration.dpus > kMaximumDpus) {
    throw InvalidArgument("pim: a device has 1 to " + std::to_string(kMaximumDpus) + " DPUs, not " +
                          std::to_string(configuration.dpus));
  }
  if (configuration.tasklets == 0 || configuration.tasklets > kMaximumTasklets) {
    throw InvalidArgument("pim: a DPU runs 1 to " + std::to_string(kMaximumTasklets) + " tasklets, not " +
                          std::to_string(configuration.tasklets));
  }
  if (configuration.mram_bytes == 0 || configuration.mram_bytes > kMramBytes ||
      configuration.mram_bytes % kDmaGranuleBytes != 0) {
    throw InvalidArgument("pim: an MRAM bank has 8 to " + std::to_string(kMramBytes) +
                          " bytes, a multiple of 8, not " + std::to_string(configuration.mram_bytes));
  }
  return configuration;
}

}  // namespace

DpuSet::DpuSet(const Configuration& configuration)
    : tasklets_(checked(configuration).tasklets),
      banks_(configuration.dpus, configuration.mram_bytes),
      execution_(banks_, configuration.tasklets) {}

LaunchReport DpuSet::launch(const Program& program) {
  LaunchReport report;
  for (unsigned dpu = 0; dpu < dpus(); ++dpu) {
    const DpuWork work = execution_.run(dpu, program);
    report.longest_dpu_cycles = std::max(report.longest_dpu_cycles, work.cycles);
    report.instructions += work.instructions;
    report.dma_bytes += work.dma_bytes;
    report.barriers += work.barriers;
  }
  report.modelled = launch_seconds(report.longest_dpu_cycles);
  return report;
}

void DpuSet::check_transfer(const char* what, unsigned dpu, MramAddress address, std::size_t bytes) const {
  const auto fail = [&](const std::string& rule) {
    throw TransferError("pim: " + std::string(what) + " of " + std::to_string(bytes) +
                        " bytes at MRAM address " + std::to_string(address) + ": " + rule);
  };
  if (dpu >= dpus()) {
    fail("there is no DPU " + std::to_string(dpu) + "; the device has " + std::to_string(dpus()));
  }
  if (address % kDmaGranuleBytes != 0)
    fail("the address must be a multiple of 8; begin at the granule before it");
  if (bytes % kDmaGranuleBytes != 0) fail("the size must be a multiple of 8; pad the data");
  if (address > mram_bytes() || bytes > mram_bytes() - address) {
    fail("the range must end within the bank's " + std::to_string(mram_bytes()) +
         " bytes; allocate room for it, or use more DPUs");
  }
}

Seconds DpuSet::scatter(MramAddress address, const void* host, std::size_t bytes_each) {
  check_transfer("scatter", 0, address, bytes_each);
  for (unsigned dpu = 0; dpu < dpus() && bytes_each != 0; ++dpu) {
    std::memcpy(bank(dpu) + address, static_cast<const std::byte*>(host) + dpu * bytes_each, bytes_each);
  }
  return transfer_seconds(TransferKind::ToDpus, dpus(), bytes_each);
}

Seconds DpuSet::gather(MramAddress address, void* host, std::size_t bytes_each) const {
  check_transfer("gather", 0, address, bytes_each);
  for (unsigned dpu = 0; dpu < dpus() && bytes_each != 0; ++dpu) {
    std::memcpy(static_cast<std::byte*>(host) + dpu * bytes_each, bank(dpu) + address, bytes_each);
  }
  return transfer_seconds(TransferKind::FromDpus, dpus(), bytes_each);
}

Seconds DpuSet::broadcast(MramAddress address, const void* host, std::size_t bytes) {
  check_transfer("broadcast", 0, address, bytes);
  for (unsigned dpu = 0; dpu < dpus() && bytes != 0; ++dpu) std::memcpy(bank(dpu) + address, host, bytes);
  return transfer_seconds(TransferKind::Broadcast, dpus(), bytes);
}

Seconds DpuSet::copy_to(unsigned dpu, MramAddress address, const void* host, std::size_t bytes) {
  check_transfer("copy to one DPU", dpu, address, bytes);
  if (bytes != 0) std::memcpy(bank(dpu) + address, host, bytes);
  return transfer_seconds(TransferKind::ToDpus, 1, bytes);
}

Seconds DpuSet::copy_from(unsigned dpu, MramAddress address, void* host, std::size_t bytes) const {
  check_transfer("copy from one DPU", dpu, address, bytes);
  if (bytes != 0) std::memcpy(host, bank(dpu) + address, bytes);
  return transfer_seconds(TransferKind::FromDpus, 1, bytes);
}

}  // namespace hocket::dpu
