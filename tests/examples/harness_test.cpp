// SPDX-License-Identifier: Apache-2.0
// What the jobs have in common, tried on jobs made for it.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <hocket/kernels.hpp>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "console.hpp"
#include "job.hpp"
#include "job_output.hpp"
#include "peak.hpp"

namespace hocket::jobs {
namespace {

/// Does what it is told.
class EndingJob final : public Job {
 public:
  explicit EndingJob(std::function<void(Runtime&)> body) : body_(std::move(body)) {}
  std::string name() const override { return "ending"; }
  std::string description() const override { return "ends in its own way"; }
  void add_options(CLI::App&) override {}
  JobResult run(Runtime& runtime, const CommonOptions&, const Progress&) override {
    body_(runtime);
    JobResult result;
    result.lines = {"a line"};
    result.fields = std::make_unique<nlohmann::ordered_json>(nlohmann::ordered_json{{"own", 3}});
    return result;
  }

 private:
  std::function<void(Runtime&)> body_;
};

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome run(std::function<void(Runtime&)> body, std::vector<std::string> arguments = {}) {
  EndingJob job(std::move(body));
  arguments.insert(arguments.end(), {"--devices", "cpu:1"});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = job_command(job, "ending", arguments);
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

void fill_some(Runtime& runtime) {
  runtime.submit(kernels::fill<double>(), 1.0, runtime.data<double>({100}));
  runtime.wait();
}

TEST(Harness, ReturnsZeroAndPrintsTheLinesOfAJobThatEndsWell) {
  const Outcome outcome = run(fill_some);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind("a line\n", 0), 0u) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST(Harness, AddsTheJobsOwnFieldsToTheJsonObject) {
  const auto object = nlohmann::json::parse(run(fill_some, {"--json"}).out);
  EXPECT_EQ(object.at("example"), "ending");
  EXPECT_EQ(object.at("tasks"), 1);
  EXPECT_EQ(object.at("own"), 3);
}

TEST(Harness, TurnsEveryExceptionIntoAMessageAndAnExitCode) {
  const Outcome misuse = run([](Runtime&) { throw InvalidArgument("no such thing"); });
  EXPECT_EQ(misuse.code, 2);
  EXPECT_EQ(misuse.err, "ending: no such thing\n");
  EXPECT_EQ(misuse.out, "");
  EXPECT_EQ(run([](Runtime&) { throw Error("broken"); }).code, 1);
  EXPECT_EQ(run([](Runtime&) { throw std::bad_alloc(); }).code, 1);
  EXPECT_EQ(run([](Runtime&) { throw 42; }).code, 1);
}

TEST(Harness, ReportsATaskThatFails) {
  const Outcome outcome = run([](Runtime& runtime) {
    runtime.submit({.name = "bad step"}, cpu([](Out<double>) { throw std::runtime_error("a wall"); }),
                   runtime.data<double>({4}));
    runtime.wait();
  });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("bad step"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("a wall"), std::string::npos) << outcome.err;
}

TEST(Harness, GivesTheJobTheOptionsAsTheyWereGiven) {
  class Looker final : public Job {
   public:
    std::string name() const override { return "looker"; }
    std::string description() const override { return "looks"; }
    void add_options(CLI::App& app) override { app.add_option("--extra", extra); }
    JobResult run(Runtime& runtime, const CommonOptions& options, const Progress&) override {
      seen = options;
      policy = runtime.policy();
      return {};
    }
    int extra = 0;
    CommonOptions seen;
    std::string policy;
  } job;
  testing::internal::CaptureStdout();
  EXPECT_EQ(
      job_command(job, "looker",
                  {"--size", "12", "--tile", "3", "--policy", "eager", "--devices", "cpu:2", "--extra", "9"}),
      0);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(job.seen.size, 12u);
  EXPECT_EQ(job.seen.tile, 3u);
  EXPECT_EQ(job.policy, "eager");
  EXPECT_EQ(job.extra, 9);
}

TEST(Harness, KnowsEachJobByADistinctName) {
  std::vector<std::string> names;
  for (const auto& job : all_jobs()) names.push_back(job->name());
  EXPECT_EQ(names, (std::vector<std::string>{"co2", "cholesky", "image"}));
}

Report sample_report() {
  Report report;
  report.makespan = {0.5};
  report.tasks = 3;
  report.flops = 4e9;
  report.policy = "eft";
  DeviceReport cpu;
  cpu.name = "cpu:0 (c)";
  cpu.kind = "cpu";
  cpu.workers = 2;
  cpu.tasks = 1;
  cpu.busy = {0.25};
  cpu.flops = 1e9;
  DeviceReport pim = cpu;
  pim.name = "pim:0 (\xff)";  // not UTF-8
  pim.kind = "pim";
  pim.workers = 1;
  pim.tasks = 2;
  pim.flops = 3e9;
  pim.modelled = Seconds{1.5};
  report.devices = {cpu, pim};
  report.bytes_moved = Bytes{2048};
  report.links = {{"host", "pim:0", Bytes{2048}, 2, {0.001}}};
  return report;
}

TEST(JobOutput, JsonHoldsTheReport) {
  const EndingJob job(fill_some);
  const auto object =
      nlohmann::json::parse(json_text(job, JobResult(), sample_report(), Peak{16e9, 2, false, "X"}));
  EXPECT_EQ(object.at("makespan_seconds"), 0.5);
  EXPECT_EQ(object.at("gflops"), 8.0);
  EXPECT_EQ(object.at("peak_gflops"), 16.0);
  EXPECT_EQ(object.at("bytes_moved"), 2048);
  EXPECT_EQ(object.at("devices").at(0).count("modelled_seconds"), 0u);
  EXPECT_EQ(object.at("devices").at(1).at("modelled_seconds"), 1.5);
}

TEST(JobOutput, TableGivesShareLoadAndModelledTime) {
  const std::string text = human_text(JobResult(), sample_report(), Peak{16e9, 2, false, "X"});
  for (const char* part : {"25.0 %", "75.0 %", "50.0 %", "1.50 s", "host -> pim:0", "2.00 KiB",
                           "8.00 GFLOP/s", "X kernels", "modelled"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(JobOutput, PrefersTheFlopsThatTheJobStates) {
  JobResult result;
  result.flops = 1e9;
  EXPECT_EQ(flops_per_second(result, sample_report()), 2e9);
  EXPECT_EQ(flops_per_second(result, Report()), 0.0);
}

TEST(Console, TablesAlignTheirColumns) {
  TextTable table({"name", "n"}, 1);
  table.add({"a", "100"});
  table.add({"long name", "7"});
  EXPECT_EQ(table.text(), "name         n\na          100\nlong name    7\n");
}

TEST(Console, ShowsQuantitiesInThreeDigits) {
  EXPECT_EQ(show_time(0.0), "0 s");
  EXPECT_EQ(show_time(1.5e-5), "15.0 us");
  EXPECT_EQ(show_time(0.9999), "1.00 s");
  EXPECT_EQ(show_size(1023), "1023 B");
  EXPECT_EQ(show_size(4096), "4.00 KiB");
  EXPECT_EQ(show_gflops(12.34e9), "12.3 GFLOP/s");
  EXPECT_EQ(show_percent(0.0 / 1.0), "0.0 %");
}

TEST(Console, WritingAFileFailsWithItsName) {
  try {
    write_file("/nonexistent/file", "text");
    FAIL() << "written";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/file"), std::string::npos);
  }
}

TEST(PeakRate, IsMeasuredForBothPrecisions) {
  for (const bool single : {false, true}) {
    const Peak peak = measure_peak(2, single);
    EXPECT_GT(peak.flops_per_second, 1e6);
    EXPECT_EQ(peak.threads, 2u);
    EXPECT_EQ(peak.single_precision, single);
    EXPECT_FALSE(peak.kernels.empty());
  }
}

TEST(PeakRate, IsOfTheWorkersOfTheRuntimeOrOfTheMachine) {
  const Runtime three({.devices = "cpu:3"});
  EXPECT_EQ(peak_threads(three.devices()), 3u);
  EXPECT_GE(peak_threads({}), 1u);
}

}  // namespace
}  // namespace hocket::jobs
