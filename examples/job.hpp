// SPDX-License-Identifier: Apache-2.0
/// What the example programs have in common: each is a job that `hocket run NAME` and a program of its own
/// can run. A job adds its own options to the command line, does its work on a runtime, and returns what it
/// found; the harness (job.cpp) parses, makes the runtime, shows progress, and writes tables, JSON, traces
/// and reports.
#pragma once

#include <functional>
#include <hocket/hocket.hpp>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace hocket::jobs {

/// Options that every job takes.
struct CommonOptions {
  std::string devices;  ///< As `RuntimeOptions::devices`.
  std::string policy;
  std::string trace;     ///< Path of the Perfetto trace; empty: none.
  std::string report;    ///< Path of the HTML report; empty: the job's own default, if it has one.
  std::string out;       ///< Folder for the files that the job writes by default; empty: none are written but
                         ///< those asked for.
  std::size_t size = 0;  ///< 0: the job's default.
  std::size_t tile = 0;
  bool json = false;  ///< One JSON object on standard output and nothing else.
};

/// Called by a job as it goes: shown on a terminal, silent in a pipe. Any thread.
using Progress = std::function<void(const std::string& what, std::size_t done, std::size_t of)>;

/// What a job has to say besides the runtime's report.
struct JobResult {
  JobResult();
  ~JobResult();
  JobResult(JobResult&&) noexcept;
  JobResult& operator=(JobResult&&) noexcept;

  /// Lines for people, in order, printed before the table of devices.
  std::vector<std::string> lines;
  /// The job's own fields of the JSON object.
  std::unique_ptr<nlohmann::ordered_json> fields;
  /// Files written: what and where, for the closing lines.
  std::vector<std::pair<std::string, std::string>> files;
  /// Floating-point operations of the job's main part; 0: the sum over its tasks.
  double flops = 0.0;
  /// The report of the job's main part, where the job does more than that on the runtime; otherwise the
  /// harness takes `Runtime::report()` when `run` returns.
  std::optional<Report> report;
  /// The job computes in single precision: so does then the measurement of the machine's peak.
  bool single_precision = false;
};

class Job {
 public:
  virtual ~Job() = default;
  virtual std::string name() const = 0;         ///< "co2"
  virtual std::string description() const = 0;  ///< One line.
  /// What the common options `--size` and `--tile` say, for help.
  virtual std::string meaning_of_size() const { return "Size of the problem, in elements along a dimension"; }
  virtual std::string meaning_of_tile() const { return "Size of a tile along a dimension"; }
  /// Adds the job's own options. The job keeps the variables that they bind to.
  virtual void add_options(CLI::App& app) = 0;
  /// Does the work. Throws `Error` (exit code 1) or, for options that make no sense, `InvalidArgument` (2).
  virtual JobResult run(Runtime& runtime, const CommonOptions& options, const Progress& progress) = 0;
  /// Whether the report must hold every task and copy. It does anyway where a trace or a report is asked for.
  virtual bool needs_events(const CommonOptions& options) const { return !options.out.empty(); }
  /// Writes files that need the runtime's report (such as a page with a Gantt chart) after `run`.
  virtual void finish(const Report& report, const CommonOptions& options, JobResult& result) {
    (void)report, (void)options, (void)result;
  }
};

std::unique_ptr<Job> make_co2_job();
std::unique_ptr<Job> make_cholesky_job();
std::unique_ptr<Job> make_image_job();

/// All jobs, in the order in which `hocket run --help` lists them.
std::vector<std::unique_ptr<Job>> all_jobs();

/// Adds the common options and the job's own to a command.
void add_job_options(CLI::App& app, Job& job, CommonOptions& options);
/// Runs a job whose command line has been parsed; prints; returns the exit code: 0 done, 1 failed, 2 misuse.
/// Throws nothing. Standard output has the results, standard error messages and progress.
int run_job(Job& job, const CommonOptions& options);
/// Parses `arguments` (without the program's name), then runs the job. `program` is what the user typed
/// before them, for help and messages: "hocket run co2".
int job_command(Job& job, const std::string& program, const std::vector<std::string>& arguments);
/// A whole `main` for one job.
int job_main(Job& job, int argc, char** argv);

}  // namespace hocket::jobs
