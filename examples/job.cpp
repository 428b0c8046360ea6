// SPDX-License-Identifier: Apache-2.0
/// The harness of the jobs: command line, runtime, progress, files, output, exit code.
#include "job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "console.hpp"
#include "job_output.hpp"
#include "peak.hpp"
#include "progress.hpp"

namespace hocket::jobs {

JobResult::JobResult() = default;
JobResult::~JobResult() = default;
JobResult::JobResult(JobResult&&) noexcept = default;
JobResult& JobResult::operator=(JobResult&&) noexcept = default;

namespace {

enum ExitCode { kDone = 0, kFailed = 1, kMisuse = 2 };

/// Validators return what is wrong, or nothing.
std::string positive_number(const std::string& text) {
  std::size_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size() && number > 0) return {};
  return fmt::format("'{}' is not a whole number from 1 up", text);
}

std::string known_policy(const std::string& text) {
  const std::vector<std::string> names = policy_names();
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  const std::vector<std::string_view> planners = planner_names();
  const bool plans = std::find(planners.begin(), planners.end(), text) != planners.end();
  return fmt::format("there is no policy '{}'; the policies are {}{}", text, fmt::join(names, ", "),
                     plans ? " ('" + text + "' is a planner of recorded graphs: see Runtime::plan)" : "");
}

/// Names an unknown argument and lists the options that there are.
std::string explain_unknown(const CLI::App& app, const std::vector<std::string>& unknown) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  return fmt::format("unknown argument{} {}; the options are {}", unknown.size() == 1 ? "" : "s",
                     fmt::join(unknown, " "), fmt::join(names, " "));
}

/// A runtime for the job. What cannot be made of the options is misuse.
RuntimeOptions runtime_options(const Job& job, const CommonOptions& options) {
  RuntimeOptions result;
  result.devices = options.devices;
  result.policy = options.policy;
  if (!options.trace.empty() || !options.report.empty() || job.needs_events(options)) result.trace = true;
  return result;
}

/// Finds out before the work is done that its results could not be written.
void prepare_files(const CommonOptions& options) {
  require_folder_of(options.trace);
  require_folder_of(options.report);
  if (!options.out.empty()) make_folder(options.out);
}

void write_files(Job& job, const CommonOptions& options, const Report& report, JobResult& result) {
  if (!options.trace.empty()) {
    write_perfetto(report, options.trace);
    result.files.emplace_back("trace", options.trace);
  }
  if (!options.report.empty()) {
    write_html(report, fmt::format("hocket run {}", job.name()), options.report);
    result.files.emplace_back("report", options.report);
  }
  job.finish(report, options, result);
}

int run_checked(Job& job, const CommonOptions& options) {
  prepare_files(options);
  JobResult result;
  Report report;
  std::size_t threads = 0;
  {
    Runtime runtime(runtime_options(job, options));
    ProgressLine line;
    result = job.run(runtime, options, [&line](const std::string& what, std::size_t done, std::size_t of) {
      line.show(what, done, of);
    });
    report = result.report ? std::move(*result.report) : runtime.report();
    threads = peak_threads(runtime.devices());
  }  // no worker competes with the measurement of the peak
  const Peak peak = measure_peak(threads, result.single_precision);
  // A result that has been computed is shown even if a file of it cannot be written.
  std::string trouble;
  try {
    write_files(job, options, report, result);
  } catch (const FileError& error) {
    trouble = error.what();
  }
  print(options.json ? json_text(job, result, report, peak) : human_text(result, report, peak));
  if (trouble.empty()) return kDone;
  complain(job.name(), trouble);
  return kFailed;
}

}  // namespace

void add_job_options(CLI::App& app, Job& job, CommonOptions& options) {
  app.add_option("--size", options.size, job.meaning_of_size())
      ->check(CLI::Validator(positive_number, ""))
      ->type_name("N");
  app.add_option("--tile", options.tile, job.meaning_of_tile())
      ->check(CLI::Validator(positive_number, ""))
      ->type_name("B");
  app.add_option("--policy", options.policy,
                 fmt::format("Scheduling policy: {} (default: HOCKET_POLICY, or by the devices)",
                             fmt::join(policy_names(), ", ")))
      ->check(CLI::Validator(known_policy, ""))
      ->type_name("POLICY");
  app.add_option("--devices", options.devices,
                 "Devices, for example cpu:2,opencl,pim:64 (default: HOCKET_DEVICES, or all real ones); see "
                 "`hocket devices`")
      ->type_name("SPEC");
  app.add_option("--trace", options.trace, "Write a trace for ui.perfetto.dev to this file")
      ->type_name("FILE");
  app.add_option("--report", options.report,
                 "Write a page with the time line of devices and links to this file")
      ->type_name("FILE.html");
  app.add_option("--out", options.out,
                 "Write the job's pictures and pages to this folder; made where missing")
      ->type_name("DIR");
  app.add_flag("--json", options.json, "Print one JSON object and nothing else on standard output");
  job.add_options(app);
}

int run_job(Job& job, const CommonOptions& options) {
  const std::string name = job.name();
  try {
    return run_checked(job, options);
  } catch (const InvalidArgument& error) {
    complain(name, error.what());
    return kMisuse;
  } catch (const std::bad_alloc&) {
    complain(name, "this machine has not enough memory for it; try a smaller --size");
  } catch (const std::exception& error) {
    complain(name, error.what());
  } catch (...) {
    complain(name, "failed with an unknown error");
  }
  return kFailed;
}

int job_command(Job& job, const std::string& program, const std::vector<std::string>& arguments) {
  try {
    CommonOptions options;
    CLI::App app(job.description(), program);
    app.get_formatter()->column_width(28);
    add_job_options(app, job, options);
    try {
      // CLI11 takes them last first.
      app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
      print(app.help());
      return kDone;
    } catch (const CLI::ExtrasError&) {
      complain(program, explain_unknown(app, app.remaining()));
      return kMisuse;
    } catch (const CLI::ParseError& error) {
      complain(program, fmt::format("{} (`{} --help` shows the options)", error.what(), program));
      return kMisuse;
    }
    return run_job(job, options);
  } catch (const std::exception& error) {
    complain(program, error.what());
    return kFailed;
  }
}

int job_main(Job& job, int argc, char** argv) {
  survive_closed_pipes();
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : job.name();
  return job_command(job, program, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace hocket::jobs
