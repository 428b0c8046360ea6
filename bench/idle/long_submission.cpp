// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "idle/probes.hpp"

namespace hocket::bench::idle {
namespace {

/// The most memory that this program has held so far, in MiB. `getrusage` would count what its parent held, too.
double peak_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;  // kB
  throw std::runtime_error("long_submission: /proc/self/status does not tell the peak of memory");
}

}  // namespace

void long_submission(const Extent& extent) {
  constexpr unsigned kWorkers = 2;
  constexpr std::size_t kSlices = 20;
  constexpr std::size_t kData = 1024;
  const std::size_t slice = (extent.quick ? 1000000 : 10000000) / kSlices;
  Runtime runtime(cpu_workers(kWorkers));
  const Codelet touch{"touch", cpu([](View<std::uint32_t> x) { ++x[0]; })};
  std::vector<Data<std::uint32_t>> data;
  for (std::size_t i = 0; i < kData; ++i) {
    data.push_back(runtime.data<std::uint32_t>({1}));
    runtime.overwrite(data.back())[0] = 0;
  }
  const double before = peak_mebibytes();
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < kSlices; ++i) {
    const auto slice_begin = Clock::now();
    for (std::size_t j = 0; j < slice; ++j) runtime.submit(touch, data[(i * slice + j) % kData]);
    print_sample("long_submission", "slice " + std::to_string(i + 1) + " of 20, submission", "hocket",
                 kWorkers, nanoseconds_since(slice_begin) / static_cast<double>(slice), "ns");
  }
  runtime.wait();
  print_sample("long_submission", "all, submitted and run", "hocket", kWorkers,
               nanoseconds_since(begin) / static_cast<double>(kSlices * slice), "ns");
  print_sample("long_submission", "peak memory, more than before", "hocket", kWorkers,
               peak_mebibytes() - before, "MiB");
  std::size_t sum = 0;
  for (const Data<std::uint32_t>& datum : data) sum += runtime.read(datum)[0];
  if (sum != kSlices * slice) throw std::runtime_error("long_submission: tasks were left out");
}

}  // namespace hocket::bench::idle
