// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "console.hpp"
#include "job.hpp"

namespace hocket::cli {

int run_command(const Arguments& arguments) {
  const auto jobs = jobs::all_jobs();
  std::vector<std::string> names;
  for (const auto& job : jobs) names.push_back(job->name());
  if (arguments.empty()) {
    jobs::complain("hocket run",
                   fmt::format("the name of a job is missing; the jobs are {}", fmt::join(names, ", ")));
    return 2;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") {
    jobs::TextTable table({"job", "what it does"}, 2);
    for (const auto& job : jobs) table.add({job->name(), job->description()});
    jobs::print(
        "usage: hocket run NAME [--size N] [--tile B] [--policy P] [--devices SPEC] [--trace FILE]\n"
        "                       [--report FILE.html] [--out DIR] [--json] [the job's own options]\n\n" +
        table.text() + "\n`hocket run NAME --help` explains all options of a job.\n");
    return 0;
  }
  for (const auto& job : jobs)
    if (job->name() == name)
      return jobs::job_command(*job, "hocket run " + name, Arguments(arguments.begin() + 1, arguments.end()));
  const bool option = !name.empty() && name[0] == '-';
  jobs::complain("hocket run", fmt::format("{} '{}'; the jobs are {}",
                                           option ? "the name of a job comes before its options, but here is"
                                                  : "there is no job",
                                           name, fmt::join(names, ", ")));
  return 2;
}

}  // namespace hocket::cli
