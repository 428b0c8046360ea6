// SPDX-License-Identifier: Apache-2.0
//
// The weekly Mauna Loa CO2 record as text: the content of examples/data/co2_weekly.csv, which the build turns
// into a string constant, so that the program needs no data file at run time. The view is valid for the whole
// program.
#pragma once

#include <string_view>

namespace hocket::jobs {

std::string_view co2_weekly_csv();

}  // namespace hocket::jobs
