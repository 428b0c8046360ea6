// SPDX-License-Identifier: Apache-2.0
// The program `hocket`, run as a user would.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <hocket/version.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.hpp"

namespace hocket {
namespace {

using test::ProgramOptions;
using test::ProgramResult;
using test::run_program;
using test::TemporaryFolder;

ProgramResult run_hocket(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) {
  ProgramResult result = run_program(HOCKET_PROGRAM, arguments, options);
  EXPECT_FALSE(result.hung);
  return result;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_holds(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

// Misuse: a message that names what is known, nothing on standard output, exit code 2.
void expect_misuse(const std::vector<std::string>& arguments, const std::vector<std::string>& named,
                   const ProgramOptions& options = {}) {
  const ProgramResult result = run_hocket(arguments, options);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(result.out, "");
  expect_holds(result.err, named);
}

void expect_failure(const std::vector<std::string>& arguments, const std::vector<std::string>& named,
                    const ProgramOptions& options = {}) {
  const ProgramResult result = run_hocket(arguments, options);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  expect_holds(result.err, named);
}

const std::vector<std::string> kSmallCholesky = {"run",    "cholesky", "--size",    "120",
                                                 "--tile", "48",       "--devices", "cpu:2"};
std::vector<std::string> small_cholesky(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kSmallCholesky;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Cli, ExplainsItselfOnHelp) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"help"},
                                             {"devices", "--help"},
                                             {"version", "--help"},
                                             {"run", "--help"},
                                             {"run", "co2", "--help"},
                                             {"run", "cholesky", "--help"},
                                             {"run", "image", "-h"}}) {
    const ProgramResult result = run_hocket(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments.back();
    EXPECT_EQ(result.err, "");
    EXPECT_GT(result.out.size(), 40u);
  }
}

TEST(Cli, HelpOfRunListsEveryJob) {
  expect_holds(run_hocket({"run", "--help"}).out, {"co2", "cholesky", "image"});
  expect_holds(run_hocket({"run", "co2", "--help"}).out, {"Observations that are used", "covariance matrix"});
}

TEST(Cli, PrintsItsVersionInTwoWays) {
  const ProgramResult result = run_hocket({"version"});
  EXPECT_EQ(result.out, std::string("hocket ") + std::string(hocket::version()) + "\n");
  EXPECT_EQ(run_hocket({"--version"}).out, result.out);
}

TEST(CliMisuse, NamesTheCommandsWhenThereIsNoneOrAnUnknownOne) {
  expect_misuse({}, {"devices, run and version"});
  expect_misuse({"frobnicate"}, {"'frobnicate'", "devices, run and version"});
  expect_misuse({"version", "now"}, {"takes no arguments"});
}

TEST(CliMisuse, NamesTheJobsWhenTheNameIsMissingOrUnknown) {
  expect_misuse({"run"}, {"co2, cholesky, image"});
  expect_misuse({"run", "lu"}, {"'lu'", "co2, cholesky, image"});
  expect_misuse({"run", "--size", "3"}, {"before its options", "co2, cholesky, image"});
}

TEST(CliMisuse, NamesTheOptionsWhenOneIsUnknown) {
  expect_misuse({"run", "cholesky", "--order", "3"}, {"--order", "--size", "--precision"});
  expect_misuse({"devices", "--verbose"}, {"--verbose", "--json"});
}

TEST(CliMisuse, RefusesSizesThatAreNoPositiveNumbers) {
  for (const char* size : {"0", "-1", "many", "1e3", "99999999999999999999999"}) {
    expect_misuse({"run", "cholesky", "--size", size}, {"--size", size});
    expect_misuse({"run", "image", "--tile", size}, {"--tile", size});
  }
  expect_misuse({"run", "cholesky", "--size"}, {"--size"});
}

TEST(CliMisuse, NamesThePoliciesWhenOneIsUnknown) {
  expect_misuse({"run", "cholesky", "--policy", "best"}, {"best", "eager", "eft", "ws"});
  expect_misuse({"run", "cholesky"}, {"best", "eager", "eft", "ws"},
                {.environment = {{"HOCKET_POLICY", "best"}}});
  expect_misuse({"run", "cholesky", "--policy", "heft"}, {"heft", "eager, eft, ws", "Runtime::plan"});
  expect_misuse({"run", "cholesky"}, {"heft", "Runtime::plan"}, {.environment = {{"HOCKET_POLICY", "heft"}}});
}

TEST(CliMisuse, NamesTheKindsOfDevicesWhenASpecificationIsWrong) {
  expect_misuse({"run", "cholesky", "--devices", "abacus"}, {"abacus", "cpu"});
  expect_misuse({"devices", "--devices", "abacus"}, {"abacus", "cpu"});
  expect_misuse({"devices"}, {"cpu:many"}, {.environment = {{"HOCKET_DEVICES", "cpu:many"}}});
}

TEST(CliMisuse, RefusesOptionsOfAJobThatMakeNoSense) {
  expect_misuse({"run", "cholesky", "--precision", "half"}, {"half", "float", "double"});
  expect_misuse({"run", "image", "--amount", "nan"}, {"--amount"});
  expect_misuse({"run", "image", "--size", "10", "--input", "x.ppm"}, {"--size", "--input"});
}

TEST(CliDevices, ListsTheCpuWithAMeasuredSpeed) {
  const ProgramResult result = run_hocket({"devices", "--devices", "cpu:2"});
  EXPECT_EQ(result.exit_code, 0);
  expect_holds(result.out, {"cpu:0", "measured", "units", "memory"});
}

TEST(CliDevices, JsonIsOneObjectThatDescribesEachDevice) {
  const ProgramResult result = run_hocket({"devices", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto object = nlohmann::json::parse(result.out);
  ASSERT_FALSE(object.at("devices").empty());
  for (const auto& device : object.at("devices")) {
    EXPECT_FALSE(device.at("kind").get<std::string>().empty());
    EXPECT_FALSE(device.at("name").get<std::string>().empty());
    EXPECT_GT(device.at("units").get<int>(), 0);
    EXPECT_GT(device.at("memory_bytes").get<double>(), 0);
    EXPECT_GT(device.at("gflops").get<double>(), 0);
    EXPECT_EQ(device.at("links").empty(), device.at("kind") == "cpu");
  }
}

TEST(CliDevices, SaysWhatThereIsWhenNoneIsAskedFor) {
  const ProgramResult result = run_hocket({"devices"}, {.environment = {{"HOCKET_DEVICES", "none"}}});
  EXPECT_EQ(result.exit_code, 0);
  expect_holds(result.out, {"no devices", "none", "cpu:0"});
}

TEST(CliDevices, SaysWhyAKindHasNone) {
  if (HOCKET_HAS_OPENCL == 0) GTEST_SKIP() << "built without OpenCL";
  const ProgramResult result =
      run_hocket({"devices"}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent/"}}});
  EXPECT_EQ(result.exit_code, 0);
  expect_holds(result.out, {"cpu:0", "no opencl device: "});
}

TEST(CliRun, PrintsResultsDevicesAndTheMeasuredPeakInAPipeWithoutProgress) {
  const ProgramResult result = run_hocket(kSmallCholesky);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  expect_holds(result.out, {"residual", "cpu:0", "busy", "between memories", "measured peak", "policy"});
}

TEST(CliRun, JsonIsOneObjectAndNothingElse) {
  const ProgramResult result = run_hocket(small_cholesky({"--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto object = nlohmann::json::parse(result.out);
  EXPECT_EQ(object.at("example"), "cholesky");
  EXPECT_GT(object.at("makespan_seconds").get<double>(), 0);
  EXPECT_GT(object.at("gflops").get<double>(), 0);
  EXPECT_GT(object.at("peak_gflops").get<double>(), 0);
  EXPECT_EQ(object.at("bytes_moved").get<double>(), 0);
  EXPECT_EQ(object.at("tasks"), 10);  // 3 potrf, 3 trsm, 3 syrk, 1 gemm
  ASSERT_EQ(object.at("devices").size(), 1u);
  EXPECT_EQ(object.at("devices")[0].at("kind"), "cpu");
  EXPECT_EQ(object.at("devices")[0].at("tasks"), 10);
  EXPECT_GT(object.at("devices")[0].at("busy_seconds").get<double>(), 0);
  EXPECT_LT(object.at("residual").get<double>(), 1e-13);
}

TEST(CliRun, GivesTheModelledTimeOfAnEmulatedDevice) {
  if (HOCKET_HAS_PIM == 0) GTEST_SKIP() << "built without the PIM device";
  const ProgramResult result = run_hocket({"run", "image", "--size", "32", "--devices", "pim:4", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto object = nlohmann::json::parse(result.out);
  EXPECT_GT(object.at("devices")[0].at("modelled_seconds").get<double>(), 0);
  EXPECT_GT(object.at("bytes_moved").get<double>(), 0);
}

TEST(CliRun, WritesTraceAndReport) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_hocket(small_cholesky({"--trace", folder.file("t.json"), "--report", folder.file("r.html")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_holds(result.out, {folder.file("t.json"), folder.file("r.html")});
  EXPECT_TRUE(nlohmann::json::accept(text_of(folder.file("t.json"))));
  expect_holds(text_of(folder.file("t.json")), {"potrf"});
  expect_holds(text_of(folder.file("r.html")), {"<svg", "potrf"});
}

TEST(CliFailure, NamesTheCodeletWhenNoDeviceCanRunIt) {
  expect_failure({"run", "cholesky", "--devices", "none"}, {"spd_tile", "none"});
}

TEST(CliFailure, ShowsTheResultAndNamesTheFileWhenTheDiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  for (const char* option : {"--report", "--trace"}) {
    const ProgramResult result = run_hocket(small_cholesky({option, "/dev/full"}));
    EXPECT_EQ(result.exit_code, 1);
    expect_holds(result.out, {"residual"});
    expect_holds(result.err, {"/dev/full", "No space left"});
  }
}

TEST(CliFailure, SaysSoWhenStandardOutputIsFullOrClosed) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  expect_failure(small_cholesky({"--json"}), {"standard output", "No space left"},
                 {.standard_output = "/dev/full"});
  expect_failure({"--help"}, {"standard output", "No space left"}, {.standard_output = "/dev/full"});
  expect_failure(small_cholesky({}), {"standard output", "Broken pipe"}, {.closed_output = true});
  expect_failure({"devices", "--devices", "cpu"}, {"standard output", "Broken pipe"},
                 {.closed_output = true});
}

TEST(CliFailure, FindsOutBeforeTheWorkThatAFolderIsMissing) {
  const ProgramResult result = run_hocket(small_cholesky({"--trace", "/nonexistent/t.json"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  expect_holds(result.err, {"/nonexistent/t.json"});
  expect_failure(small_cholesky({"--out", "/dev/null/folder"}), {"/dev/null/folder"});
}

TEST(CliFailure, RefusesAMatrixThatCannotFitTheMachine) {
  expect_failure({"run", "cholesky", "--size", "100000000"}, {"--size", "PiB"});
}

TEST(CliFailure, NamesAPictureThatCannotBeRead) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("text.png")) << "no picture";
  expect_failure({"run", "image", "--input", folder.file("none.png")}, {"none.png", "No such file"});
  expect_failure({"run", "image", "--input", folder.file("text.png")}, {"text.png", "PPM"});
  expect_failure({"run", "image", "--input", folder.path()}, {"folder"});
}

}  // namespace
}  // namespace hocket
