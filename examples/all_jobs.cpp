// SPDX-License-Identifier: Apache-2.0
// Apart from job.cpp, so that a program of one job links no other.
#include "job.hpp"

namespace hocket::jobs {

std::vector<std::unique_ptr<Job>> all_jobs() {
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(make_co2_job());
  jobs.push_back(make_cholesky_job());
  jobs.push_back(make_image_job());
  return jobs;
}

}  // namespace hocket::jobs
