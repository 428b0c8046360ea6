// SPDX-License-Identifier: Apache-2.0
/// Forecasts the CO2 record of Mauna Loa, or the user's own series: see --help.
#include "job.hpp"

int main(int argc, char** argv) {
  const auto job = hocket::jobs::make_co2_job();
  return hocket::jobs::job_main(*job, argc, argv);
}
