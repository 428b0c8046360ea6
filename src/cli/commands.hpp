// SPDX-License-Identifier: Apache-2.0
/// The commands of the program. Each takes the arguments after its name and returns the exit code: 0 done, 1
/// failed, 2 misuse. Results go to standard output, messages to standard error. They throw what they cannot
/// handle; `main` reports it.
#pragma once

#include <string>
#include <vector>

namespace hocket::cli {

using Arguments = std::vector<std::string>;

int run_command(const Arguments& arguments);      ///< hocket run NAME ...
int devices_command(const Arguments& arguments);  ///< hocket devices [--devices SPEC] [--json]

}  // namespace hocket::cli
