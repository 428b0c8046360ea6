// SPDX-License-Identifier: Apache-2.0
/// The program `hocket`: what devices there are, and jobs to run on them.
#include <fmt/format.h>

#include <exception>
#include <hocket/error.hpp>
#include <hocket/version.hpp>

#include "cli/commands.hpp"
#include "console.hpp"

namespace hocket::cli {
namespace {

constexpr const char* kHelp =
    "hocket: a heterogeneous task-graph runtime\n"
    "\n"
    "usage:\n"
    "  hocket devices [--devices SPEC] [--json]   the devices of this machine\n"
    "  hocket run NAME [options]                  runs a job; `hocket run --help` lists them\n"
    "  hocket version                             the version of the library\n"
    "  hocket COMMAND --help                      more on a command\n"
    "\n"
    "environment, where no option says otherwise: HOCKET_DEVICES, HOCKET_POLICY, HOCKET_MEMORY,\n"
    "HOCKET_TRACE, HOCKET_CHECK, HOCKET_WINDOW. Exit codes: 0 done, 1 failed, 2 misuse.\n";

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    jobs::complain("hocket",
                   "a command is missing; the commands are devices, run and version (see hocket --help)");
    return 2;
  }
  const std::string& command = arguments.front();
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (command == "run") return run_command(rest);
  if (command == "devices") return devices_command(rest);
  const bool help = command == "help" || command == "--help" || command == "-h";
  const bool version = command == "version" || command == "--version";
  if (!help && !version) {
    jobs::complain("hocket",
                   fmt::format("there is no command '{}'; the commands are devices, run and version (see "
                               "hocket --help)",
                               command));
    return 2;
  }
  if (version && rest.size() == 1 && (rest[0] == "--help" || rest[0] == "-h")) {
    jobs::print("usage: hocket version\nPrints the version of the library.\n");
    return 0;
  }
  if (!rest.empty()) {
    jobs::complain("hocket", fmt::format("'{}' takes no arguments", command));
    return 2;
  }
  jobs::print(help ? std::string(kHelp) : fmt::format("hocket {}\n", hocket::version()));
  return 0;
}

}  // namespace
}  // namespace hocket::cli

int main(int argc, char** argv) {
  hocket::jobs::survive_closed_pipes();
  try {
    return hocket::cli::dispatch(hocket::cli::Arguments(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const hocket::InvalidArgument& error) {
    hocket::jobs::complain("hocket", error.what());
    return 2;
  } catch (const std::exception& error) {
    hocket::jobs::complain("hocket", error.what());
    return 1;
  }
}
