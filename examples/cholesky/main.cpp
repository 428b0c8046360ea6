// SPDX-License-Identifier: Apache-2.0
/// Factors a random matrix by tiles: see --help.
#include "job.hpp"

int main(int argc, char** argv) {
  const auto job = hocket::jobs::make_cholesky_job();
  return hocket::jobs::job_main(*job, argc, argv);
}
