// SPDX-License-Identifier: Apache-2.0
/// What the documents show is true: programs compile or stand in the named file, links lead somewhere, and the commands
/// name things that exist.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path root = HOCKET_SOURCE_DIR;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> documents() {
  std::vector<fs::path> found{root / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

/// A fenced block, with the HTML comment on the line before it: `from FILE`, or `wrap: function`.
struct Block {
  std::string language;
  std::string text;
  std::string note;
};

std::vector<Block> blocks(const fs::path& document) {
  std::vector<Block> found;
  std::istringstream lines(contents(document));
  std::string previous;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) found.push_back({line.substr(3), "", previous});
    } else if (inside) {
      found.back().text += line + "\n";
    } else if (!line.empty()) {
      previous = line;
    }
  }
  return found;
}

std::string without_indent(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) result += line.substr(first) + "\n";
  }
  return result;
}

TEST(Documents, ShowProgramsThatStandInTheNamedFileOrCompile) {
  const fs::path folder = fs::path(testing::TempDir()) / "hocket_documents";
  fs::create_directories(folder);
  const std::regex from("<!-- from (.*) -->");
  int number = 0;
  for (const fs::path& document : documents()) {
    // This page's blocks are excerpts of the example that it walks through.
    const bool excerpts = document.filename() == "adding-a-backend.md";
    std::string example;
    if (excerpts)
      for (const auto& entry : fs::directory_iterator(root / "examples/toy_backend"))
        example += without_indent(contents(entry.path()));
    for (const Block& block : blocks(document)) {
      if (block.language != "cpp") continue;
      ++number;
      std::smatch match;
      if (excerpts) {
        // Cuts are marked by a line of dots.
        std::istringstream lines(without_indent(block.text));
        for (std::string line; std::getline(lines, line);)
          if (line.find("...") == std::string::npos)
            EXPECT_NE(example.find(line), std::string::npos) << document << ": not in the example: " << line;
      } else if (std::regex_match(block.note, match, from)) {
        EXPECT_NE(contents(root / match[1].str()).find(block.text), std::string::npos)
            << document << ": differs from " << match[1] << ":\n"
            << block.text;
      } else {
        ASSERT_EQ(block.note, "<!-- wrap: function -->") << document << ": say where this block is from:\n"
                                                         << block.text;
        const fs::path source = folder / ("block" + std::to_string(number) + ".cpp");
        std::ofstream(source) << "#include <cstdio>\n#include <vector>\n#include <hocket/hocket.hpp>\n"
                                 "namespace hk = hocket;\nvoid block() {\n"
                              << block.text << "}\n";
        const std::string command = "c++ -std=c++20 -fsyntax-only -I'" + (root / "include").string() + "' '" +
                                    source.string() + "' 2>'" + source.string() + ".log'";
        EXPECT_EQ(std::system(command.c_str()), 0) << document << ":\n"
                                                   << block.text << contents(source.string() + ".log");
      }
    }
  }
  EXPECT_GE(number, 5) << "the reader of the documents finds no programs";
}

TEST(Documents, LinkToFilesThatExist) {
  const std::regex link(R"(\]\(([^)#:]+)\))");
  int number = 0;
  for (const fs::path& document : documents()) {
    const std::string text = contents(document);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it, ++number)
      EXPECT_TRUE(fs::exists(document.parent_path() / (*it)[1].str()))
          << document << " links to " << (*it)[1];
  }
  EXPECT_GE(number, 5);
}

/// Commands that something else runs: the scripts themselves, and what takes an installation.
bool run_elsewhere(const std::string& command) {
  for (const char* other : {"bash examples/run.sh", "bash tests/run.sh", "cmake ", "time g++", "echo "})
    if (command.rfind(other, 0) == 0) return true;
  return false;
}

TEST(Documents, ShowCommandsThatWork) {
#ifndef HOCKET_PROGRAM
  GTEST_SKIP() << "the program hocket is not built";
#else
  const fs::path folder = fs::path(testing::TempDir()) / "hocket_commands";
  fs::create_directories(folder);
  int number = 0;
  for (const fs::path& document : documents()) {
    for (const Block& block : blocks(document)) {
      if (block.language != "sh" && block.language != "bash") continue;
      std::istringstream lines(block.text);
      for (std::string line; std::getline(lines, line);) {
        if (line.empty() || run_elsewhere(line)) continue;
        ASSERT_EQ(line.rfind("hocket ", 0), 0U) << document << ": nothing runs the command " << line;
        ++number;
        // The record is long: its command is tried on a short part of it.
        std::string arguments = line.substr(7, line.find('#') - 7);
        if (arguments.find("co2") != std::string::npos) arguments += " --size 150 --tile 64 --evaluations 4";
        const std::string command = "cd '" + folder.string() + "' && timeout 60 '" HOCKET_PROGRAM "' " +
                                    arguments + " >/dev/null 2>log";
        EXPECT_EQ(std::system(command.c_str()), 0) << line << "\n" << contents(folder / "log");
      }
    }
  }
  EXPECT_GE(number, 3);
#endif
}

}  // namespace
