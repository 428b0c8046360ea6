// SPDX-License-Identifier: Apache-2.0
// The tree itself: what stands at the top level, how files begin, how long they are, how they are formatted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>

#include "house/source_tree.hpp"

namespace hocket::house {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFolders = {"include",  "src",   "backends", "kernels",
                                           "examples", "bench", "tests"};

// Runs a command; returns what it printed (both streams) and its exit status.
std::pair<std::string, int> run(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), pipe))
    output.append(block.data(), count);
  return {output, pclose(pipe)};
}

TEST(Tree, TopLevelHoldsOnlyTheAgreedNames) {
  // Hidden files, build folders and results of the examples are not part of the tree.
  const std::set<std::string> agreed = {
      "CMakeLists.txt",  "CMakePresets.json", "include", "src",   "backends", "kernels",   "tests",
      "bench",           "examples",          "docs",    "cmake", "LICENSE",  "README.md", "CHANGELOG.md",
      "CONTRIBUTING.md", "SECURITY.md"};
  const std::set<std::string> ignored = {"build", "hocket-out", "shared", "compile_commands.json",
                                         "CMakeUserPresets.json"};
  for (const auto& entry : fs::directory_iterator(source_root())) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '.' || ignored.count(name) || name.rfind("build-", 0) == 0) continue;
    EXPECT_TRUE(agreed.count(name)) << name << " does not belong at the top level";
  }
  for (const char* needed :
       {"CMakeLists.txt", "LICENSE", "README.md", "examples/run.sh", "tests/run.sh", ".ci/run"})
    EXPECT_TRUE(fs::exists(source_root() / needed)) << needed << " is missing";
}

TEST(Tree, SourceFilesBeginWithTheirLicence) {
  const auto files = source_files(kFolders);
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const auto lines = lines_of(read_text(source_root() / file));
    ASSERT_FALSE(lines.empty()) << file;
    EXPECT_EQ(lines[0], "// SPDX-License-Identifier: Apache-2.0") << file;
  }
}

TEST(Tree, SourceFilesAreOneIdeaLong) {
  for (const auto& file : source_files(kFolders)) {
    const auto length = lines_of(read_text(source_root() / file)).size();
    EXPECT_LE(length, 700u) << file << " has " << length << " lines: look for the second idea";
  }
}

TEST(Tree, HeadersAreGuardedOnce) {
  for (const auto& file : source_files(kFolders)) {
    if (file.extension() != ".hpp") continue;
    const auto lines = lines_of(read_text(source_root() / file));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "#pragma once"), 1) << file;
  }
}

TEST(Tree, SourceFilesAreFormatted) {
  // Each release of clang-format lays out some lines differently; the tree follows release 14.
  const auto [version, status] = run("clang-format --version");
  if (status != 0) GTEST_SKIP() << "clang-format is not installed";
  if (version.find("version 14.") == std::string::npos)
    GTEST_SKIP() << "the tree follows clang-format 14, but this is " << version.substr(0, version.find('\n'));
  std::string command = "cd '" + source_root().string() + "' && clang-format --dry-run -Werror";
  for (const auto& file : source_files(kFolders)) command += " '" + file.generic_string() + "'";
  const auto [output, formatted] = run(command);
  EXPECT_EQ(formatted, 0) << output.substr(0, 4000);
}

}  // namespace
}  // namespace hocket::house
