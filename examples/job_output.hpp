// SPDX-License-Identifier: Apache-2.0
/// What a job prints when it is done, from what it found and the runtime's report. Pure; any thread.
#pragma once

#include <string>

#include "job.hpp"
#include "peak.hpp"

namespace hocket::jobs {

/// Floating-point operations per second of the job's main part; 0 where it had none or took no time.
double flops_per_second(const JobResult& result, const Report& report);

/// The object of `--json`, on one line:
/// {"example","makespan_seconds","gflops","peak_gflops","bytes_moved","tasks",
/// "devices":[{"name","kind","busy_seconds","tasks"}]} and the job's own fields. Emulated devices also have
/// "modelled_seconds", what the hardware that they stand for would have taken.
std::string json_text(const Job& job, const JobResult& result, const Report& report, const Peak& peak);

/// The job's lines, a table of devices, what was moved, the rate against the peak, and the files written.
std::string human_text(const JobResult& result, const Report& report, const Peak& peak);

}  // namespace hocket::jobs
