// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/device_list.hpp"
#include "console.hpp"

namespace hocket::cli {

int devices_command(const Arguments& arguments) {
  constexpr const char* kProgram = "hocket devices";
  CLI::App app("Lists the devices of this machine, with what is known of their speeds", kProgram);
  std::string specification;
  bool json = false;
  app.add_option("--devices", specification,
                 "Only these, for example cpu:2,opencl,pim:64 (default: HOCKET_DEVICES, or all there are)")
      ->type_name("SPEC");
  app.add_flag("--json", json, "Print one JSON object and nothing else on standard output");
  try {
    // CLI11 takes them last first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    jobs::print(app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    jobs::complain(kProgram,
                   fmt::format("{} (the options are --devices SPEC, --json and --help)", error.what()));
    return 2;
  }
  if (specification.empty())
    if (const char* const environment = std::getenv("HOCKET_DEVICES"); environment != nullptr)
      specification = environment;
  const DeviceList list = find_devices(specification);
  jobs::print(json ? to_json(list) : describe(list));
  return 0;
}

}  // namespace hocket::cli
