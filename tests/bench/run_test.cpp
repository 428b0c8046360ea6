// SPDX-License-Identifier: Apache-2.0
// The script of the benchmarks, as a user would call it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/program.hpp"

namespace hocket::bench {
namespace {

test::ProgramResult run_script(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"bash", HOCKET_SOURCE_DIR "/bench/run.sh"});
  return test::run_program("/usr/bin/env", arguments);
}

bool python_is_there() { return test::run_program("/usr/bin/env", {"python3", "--version"}).exit_code == 0; }

TEST(BenchScript, WithoutArgumentsSaysWhatThereIs) {
  const auto result = run_script({});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("engine"), std::string::npos);
}

TEST(BenchScript, RefusesASuiteThatIsNotThere) { EXPECT_EQ(run_script({"fastest"}).exit_code, 2); }

TEST(BenchScript, EngineMeasuresAndWritesJsonAndAPicture) {
  if (!python_is_there()) GTEST_SKIP() << "python3 is not installed";
  const test::TemporaryFolder folder;
  const std::string json = folder.file("results.json");
  const std::string svg = folder.file("ratios.svg");
  const auto result =
      run_script({"engine", "--no-build", "--build", HOCKET_BUILD_DIR, "--quick", "--patterns", "chain,data3",
                  "--rounds", "1", "--json", json, "--svg", svg});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;

  const auto written = nlohmann::json::parse(std::ifstream(json));
  std::map<std::string, std::set<std::string>> runtimes;  // by pattern
  for (const auto& row : written.at("results")) {
    for (const char* text : {"pattern", "runtime"}) EXPECT_TRUE(row.at(text).is_string());
    EXPECT_GE(row.at("workers").get<int>(), 1);
    EXPECT_EQ(row.at("tasks").get<int>(), 2000);
    EXPECT_GT(row.at("ns_per_task").get<double>(), 0);
    EXPECT_TRUE(row.at("bytes_per_task").is_null() || row.at("bytes_per_task").get<double>() > 0);
    runtimes[row.at("pattern")].insert(row.at("runtime"));
  }
  ASSERT_EQ(runtimes.size(), 2u);
  for (const char* pattern : {"chain", "data3"})
    for (const char* name :
         {"hocket", "hocket_replay", "tbb_flow_graph", "tbb_flow_graph_replay", "tbb_task_group"})
      EXPECT_TRUE(runtimes.at(pattern).count(name)) << pattern << ", " << name;

  std::ifstream picture(svg);
  std::string start(4, ' ');
  picture.read(start.data(), 4);
  EXPECT_EQ(start, "<svg");
}

TEST(BenchScript, EngineRefusesAnUnknownPattern) {
  if (!python_is_there()) GTEST_SKIP() << "python3 is not installed";
  const auto result = run_script({"engine", "--no-build", "--patterns", "spiral"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("spiral"), std::string::npos);
}

}  // namespace
}  // namespace hocket::bench
