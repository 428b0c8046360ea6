// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "idle/probes.hpp"

namespace hocket::bench::idle {
namespace {

/// CPU time of the process so far, in seconds.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Percent of one core that the process takes while its main thread sleeps.
double percent_while_asleep(std::chrono::seconds pause) {
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(pause);
  return 100 * (cpu_seconds() - cpu) / (nanoseconds_since(begin) * 1e-9);
}

}  // namespace

void idle_use(const Extent&) {
  constexpr std::chrono::seconds kPause{5};
  constexpr unsigned kWorkers = 2;
  Runtime runtime(cpu_workers(kWorkers));
  print_sample("idle_use", "before any work", "hocket", kWorkers, percent_while_asleep(kPause),
               "percent of a core");
  const Codelet touch{"touch", cpu([](View<int> x) { ++x[0]; })};
  std::vector<Data<int>> data;
  for (int i = 0; i < 100; ++i) {
    data.push_back(runtime.data<int>({1}));
    runtime.overwrite(data.back())[0] = 0;
  }
  for (int i = 0; i < 100000; ++i) runtime.submit(touch, data[static_cast<std::size_t>(i) % data.size()]);
  runtime.wait();
  print_sample("idle_use", "after 100,000 tasks", "hocket", kWorkers, percent_while_asleep(kPause),
               "percent of a core");
}

}  // namespace hocket::bench::idle
