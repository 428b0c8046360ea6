// SPDX-License-Identifier: Apache-2.0
/// Launches tiny kernels on one kind of accelerator in every way there is, in turns, and prints one line of JSON for
/// each run:
///   hocket_bench_accelerator KIND TASKS ROUNDS       KIND: opencl or pim
/// The first run of each way is not timed: it compiles kernels and brings the data to the device.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "accelerator/contender.hpp"

namespace {

using namespace hocket::bench::accelerator;

struct Entry {
  const char* name;
  std::unique_ptr<Contender> contender;
};

std::vector<Entry> entries(const std::string& kind, Pattern pattern, std::size_t tasks) {
  std::vector<Entry> all;
#if HOCKET_HAS_OPENCL
  if (kind == "opencl") all.push_back({"plain_opencl", make_plain_opencl(pattern, tasks)});
#endif
  all.push_back({"device", make_device(kind, pattern, tasks)});
  all.push_back({"hocket", make_hocket(kind, pattern, tasks, false)});
  all.push_back({"hocket_replay", make_hocket(kind, pattern, tasks, true)});
  return all;
}

/// CPU time of the process so far, in ns.
double cpu_nanoseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1e9 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void measure(const std::string& kind, Pattern pattern, std::size_t tasks, int rounds) {
  const std::vector<Entry> all = entries(kind, pattern, tasks);
  for (const Entry& entry : all) entry.contender->run();
  const auto count = static_cast<double>(tasks);
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Entry& entry = all[(i + static_cast<std::size_t>(round)) % all.size()];
      const double cpu = cpu_nanoseconds();
      const auto begin = std::chrono::steady_clock::now();
      entry.contender->run();
      const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
      std::printf(
          "{\"kind\": \"%s\", \"pattern\": \"%s\", \"tasks\": %zu, \"runtime\": \"%s\", \"ns_per_task\": "
          "%.1f, "
          "\"cpu_ns_per_task\": %.1f}\n",
          kind.c_str(), pattern == Pattern::Chain ? "chain" : "independent", tasks, entry.name,
          wall.count() / count, (cpu_nanoseconds() - cpu) / count);
    }
  const bool chain = pattern == Pattern::Chain;
  const int expected = (rounds + 1) * (chain ? static_cast<int>(tasks) : 1);
  for (const Entry& entry : all)
    for (std::size_t i = 0; i < (chain ? 1 : tasks); ++i)
      if (entry.contender->value(i) != expected)
        throw std::runtime_error(std::string(entry.name) +
                                 " launched another number of kernels than it was given");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4 || (std::strcmp(argv[1], "opencl") != 0 && std::strcmp(argv[1], "pim") != 0))
      throw std::runtime_error("usage: hocket_bench_accelerator opencl|pim TASKS ROUNDS");
    for (const Pattern pattern : {Pattern::Chain, Pattern::Independent})
      measure(argv[1], pattern, std::stoul(argv[2]), std::stoi(argv[3]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
