// SPDX-License-Identifier: Apache-2.0
#include "engine/grain.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>

#include "engine/patterns.hpp"

namespace hocket::bench {
namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double seconds_of(std::uint64_t iterations) {
  double least = std::numeric_limits<double>::infinity();
  std::size_t calls = 1;
  work_iterations = iterations;
  for (int attempt = 0; attempt < 9; ++attempt) {
    const double begin = wall_seconds();
    for (std::size_t call = 0; call < calls; ++call) execute<Body::Work>(0);
    const double seconds = wall_seconds() - begin;
    least = std::min(least, seconds / static_cast<double>(calls));
    // Long enough for the clock, short enough to fall between interruptions.
    calls = std::max<std::size_t>(1, static_cast<std::size_t>(0.5e-3 / least));
  }
  return least;
}

void measure_grain(std::string_view pattern, std::span<const Entry> runtimes, const GrainOptions& options) {
  constexpr std::uint64_t kMany = 1'000'000;
  const double seconds_per_iteration = seconds_of(kMany) / static_cast<double>(kMany);
  const auto width = static_cast<std::size_t>(std::max(8, 4 * options.workers));
  const int sizes = 1 + static_cast<int>(std::lround(options.per_decade *
                                                     std::log10(options.longest_us / options.shortest_us)));
  for (int size = 0; size < sizes; ++size) {
    const double wanted =
        1e-6 * options.shortest_us * std::pow(10, static_cast<double>(size) / options.per_decade);
    const auto iterations =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(wanted / seconds_per_iteration)));
    const double task_seconds = seconds_of(iterations);
    const double fitting = options.seconds_of_work * options.workers / task_seconds;
    const std::size_t tasks = std::clamp<std::size_t>(static_cast<std::size_t>(fitting), 25 * width, 10'000);
    const Workload workload = make_grain_pattern(pattern, width, tasks / width);
    for (const Entry& runtime : runtimes) {
      if (!runtime.fits(workload.kind, options.workers)) continue;
      const auto contender = runtime.make({workload, Body::Work, options.workers});
      work_iterations = 1;
      contender->run();
      work_iterations = iterations;
      const double cpu_begin = process_cpu_seconds();
      const double begin = wall_seconds();
      contender->run();
      const double wall = wall_seconds() - begin;
      const double cpu = process_cpu_seconds() - cpu_begin;
      std::printf(R"({"pattern": "%s", "runtime": "%s", "workers": %d, "tasks": %zu, "task_ns": %.2f, )"
                  R"("wall_ns": %.0f, "cpu_ns": %.0f})"
                  "\n",
                  workload.name.c_str(), runtime.name, options.workers, workload.tasks, 1e9 * task_seconds,
                  1e9 * wall, 1e9 * cpu);
    }
  }
}

}  // namespace hocket::bench
