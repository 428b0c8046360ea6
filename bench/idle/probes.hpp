// SPDX-License-Identifier: Apache-2.0
/// What a runtime costs when it has little to do, and when it has very much. Each probe prints lines of JSON:
/// {"benchmark", "case", "runtime", "workers", "value", "unit"}, one for each sample.
#pragma once

#include <chrono>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <string>

namespace hocket::bench::idle {

/// How much a probe is to do.
struct Extent {
  int rounds = 5;
  bool quick = false;
};

void idle_use(const Extent& extent);  ///< CPU use of a runtime that waits for work.
void wake_up(const Extent& extent);   ///< From a submission to the start of its task after a pause.
void latency(const Extent& extent);   ///< Of one task at a time, submitted and waited for.
void speed_up(const Extent& extent);  ///< Of two workers over one for short tasks.
void long_submission(
    const Extent& extent);  ///< Whether the cost of a submission depends on how many went before.
void oversubscription(const Extent& extent);  ///< More workers than cores.

inline void print_sample(const char* benchmark, const std::string& which, const char* runtime,
                         unsigned workers, double value, const char* unit) {
  std::printf(
      "{\"benchmark\": \"%s\", \"case\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"value\": %.4f, "
      "\"unit\": "
      "\"%s\"}\n",
      benchmark, which.c_str(), runtime, workers, value, unit);
  std::fflush(stdout);
}

inline RuntimeOptions cpu_workers(unsigned workers) {
  RuntimeOptions options;
  options.devices = "cpu:" + std::to_string(workers);
  return options;
}

using Clock = std::chrono::steady_clock;
inline double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

}  // namespace hocket::bench::idle
