// SPDX-License-Identifier: Apache-2.0
/// How large tasks must be for the workers to be used well: the patterns of Task Bench (Slaughter et al., SC 2020)
/// with tasks that compute for a set time. Efficiency = tasks x seconds of a task on one undisturbed core /
/// (workers x wall seconds).
#pragma once

#include <span>
#include <string_view>

#include "engine/contender.hpp"

namespace hocket::bench {

struct GrainOptions {
  int workers = 1;
  double shortest_us = 0.1;
  double longest_us = 1000;
  int per_decade = 3;             ///< Task sizes, evenly on a logarithmic scale.
  double seconds_of_work = 0.03;  ///< For each worker and run; 10,000 tasks at most, 25 rows at least.
};

/// Seconds of one `Body::Work` of so many iterations on the calling thread: the least of several measurements.
double seconds_of(std::uint64_t iterations);

/// Measures every runtime at every size, in turns, and prints a line of JSON for each:
/// pattern, runtime, workers, tasks, task_ns, wall_ns, cpu_ns.
void measure_grain(std::string_view pattern, std::span<const Entry> runtimes, const GrainOptions& options);

}  // namespace hocket::bench
