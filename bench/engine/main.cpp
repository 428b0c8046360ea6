// SPDX-License-Identifier: Apache-2.0
/// The program of every runtime that takes part. By itself it is a Google Benchmark program whose benchmarks are
/// called PATTERN/RUNTIME/workers:N and take that program's options, such as
///   --benchmark_filter='^chain/' --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
/// CPU time is that of the whole process. `cold` is what it says only where it is the first that a process runs.
///
/// Options of its own:
///   --workers=1,2    numbers of workers (default 1,2)
///   --quick          about a tenth of the tasks
///   --wavefront=N    tasks along each side of the pattern wavefront (default 1000)
/// and instead of measuring times, with lines of JSON:
///   --verify=PATTERN             whether every task ran once, after all that it depends on
///   --memory=PATTERN/RUNTIME     bytes for each task in flight; a process for each
///   --grain=PATTERN              the times of tasks that compute, of several lengths
///   --list                       the runtimes and the patterns
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/checks.hpp"
#include "engine/contender.hpp"
#include "engine/grain.hpp"
#include "engine/patterns.hpp"

namespace {

using namespace hocket::bench;

struct Options {
  std::vector<int> workers{1, 2};
  Sizes sizes;
  bool quick = false;
  std::string verify;
  std::string memory;
  std::string grain;
  bool list = false;
};

// Takes the options of this program out of the arguments.
Options take_options(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_of = [&](std::string_view name) -> std::optional<std::string> {
      if (argument.substr(0, name.size()) != name) return std::nullopt;
      return std::string(argument.substr(name.size()));
    };
    if (const auto workers = value_of("--workers=")) {
      options.workers.clear();
      for (std::size_t at = 0; at <= workers->size();) {
        const std::size_t end = std::min(workers->find(',', at), workers->size());
        options.workers.push_back(std::stoi(workers->substr(at, end - at)));
        at = end + 1;
      }
    } else if (const auto side = value_of("--wavefront=")) {
      options.sizes.wavefront = std::stoul(*side);
    } else if (const auto verify = value_of("--verify=")) {
      options.verify = *verify;
    } else if (const auto memory = value_of("--memory=")) {
      options.memory = *memory;
    } else if (const auto grain = value_of("--grain=")) {
      options.grain = *grain;
    } else if (argument == "--quick") {
      options.quick = true;
      options.sizes.divisor = 10;
    } else if (argument == "--list") {
      options.list = true;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  for (const int workers : options.workers)
    if (workers < 1) throw std::invalid_argument("--workers wants numbers from 1");
  return options;
}

// Patterns are made when first used and kept: each run of a benchmark would make its own else.
const Workload& workload(std::string_view name, const Sizes& sizes) {
  static std::map<std::string, Workload, std::less<>> made;
  const auto found = made.find(name);
  if (found != made.end()) return found->second;
  return made.emplace(std::string(name), make_pattern(name, sizes)).first->second;
}

void measure(benchmark::State& state, const Entry& runtime, const PatternInfo& pattern, const Sizes& sizes,
             int workers) {
  const Workload& work = workload(pattern.name, sizes);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));  // threads of others come to rest
  const auto contender = runtime.make({work, Body::Empty, workers});
  if (!work.kind.once) contender->run();
  for (auto _ : state) contender->run();
  const std::size_t tasks = work.tasks * work.rounds;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
  state.counters["tasks"] = static_cast<double>(tasks);
}

// About 100,000 tasks are timed at once.
int iterations_for(std::string_view pattern, bool quick) {
  if (pattern == "cold" || pattern == "wavefront") return 1;
  if (pattern == "layered") return 2;
  if (pattern == "one_task") return quick ? 10 : 20;
  return quick ? 10 : 5;
}

void add_benchmarks(const Options& options) {
  for (const PatternInfo& pattern : pattern_infos()) {
    for (const Entry& runtime : runtimes()) {
      for (const int workers : options.workers) {
        if (!runtime.fits(pattern.kind, workers)) continue;
        const std::string name =
            std::string(pattern.name) + "/" + runtime.name + "/workers:" + std::to_string(workers);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&, workers](benchmark::State& state) {
                                       measure(state, runtime, pattern, options.sizes, workers);
                                     })
            ->Iterations(iterations_for(pattern.name, options.quick))
            ->MeasureProcessCPUTime()
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

bool verify_all(const Options& options) {
  const Workload& work = workload(options.verify, options.sizes);
  bool right = true;
  for (const Entry& runtime : runtimes()) {
    for (const int workers : options.workers) {
      const Verdict verdict = verify(runtime, work, workers);
      std::printf(
          R"({"pattern": "%s", "runtime": "%s", "workers": %d, "tasks": %zu, "skipped": %s, "wrong": "%s"})"
          "\n",
          work.name.c_str(), runtime.name, workers, work.tasks * work.rounds,
          verdict.skipped ? "true" : "false", verdict.wrong.c_str());
      right = right && verdict.wrong.empty();
    }
  }
  return right;
}

// Three times as many tasks as are timed: chunks in which memory is taken weigh less. Not so where there are many
// already, nor where the data have many readers at once, whom OpenMP runtimes go through for each new task.
void measure_memory(const Options& options) {
  const std::size_t slash = options.memory.find('/');
  Sizes sizes = options.sizes;
  sizes.multiplier = 3;
  const std::string pattern = options.memory.substr(0, slash);
  if (pattern == "layered" || pattern == "cold" || pattern == "fan") sizes.multiplier = 1;
  const Workload work = make_pattern(pattern, sizes);
  for (const Entry& runtime : runtimes()) {
    if (slash == std::string::npos || options.memory.substr(slash + 1) != runtime.name) continue;
    for (const int workers : options.workers) {
      const auto bytes = bytes_per_task(runtime, work, workers);
      std::printf(R"({"pattern": "%s", "runtime": "%s", "workers": %d, "bytes_per_task": %s})"
                  "\n",
                  work.name.c_str(), runtime.name, workers, bytes ? std::to_string(*bytes).c_str() : "null");
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = take_options(argc, argv);
  if (options.list) {
    for (const Entry& runtime : runtimes()) std::printf("runtime %s\n", runtime.name);
    for (const PatternInfo& pattern : pattern_infos())
      std::printf("pattern %s: %s\n", std::string(pattern.name).c_str(), std::string(pattern.what).c_str());
  } else if (!options.verify.empty()) {
    return verify_all(options) ? 0 : 1;
  } else if (!options.memory.empty()) {
    measure_memory(options);
  } else if (!options.grain.empty()) {
    for (const int workers : options.workers) {
      GrainOptions grain;
      grain.workers = workers;
      if (options.quick) {
        grain.per_decade = 2;
        grain.seconds_of_work = 0.005;
        grain.longest_us = 100;
      }
      measure_grain(options.grain, runtimes(), grain);
    }
  } else {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    add_benchmarks(options);
    benchmark::RunSpecifiedBenchmarks();
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
