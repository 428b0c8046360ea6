// SPDX-License-Identifier: Apache-2.0
/// Blurs and sharpens a picture and counts its values: see --help.
#include "job.hpp"

int main(int argc, char** argv) {
  const auto job = hocket::jobs::make_image_job();
  return hocket::jobs::job_main(*job, argc, argv);
}
