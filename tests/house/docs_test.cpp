// SPDX-License-Identifier: Apache-2.0
// What README.md and docs/ show is true: programs compile or stand in the named file, commands work, links lead
// somewhere, and names in running text exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "house/documents.hpp"
#include "house/source_tree.hpp"

namespace hocket::house {
namespace {

namespace fs = std::filesystem;

std::string place_of(const Page& page, int line) {
  return page.path.generic_string() + ":" + std::to_string(line) + ": ";
}

class Documents : public testing::Test {
 protected:
  Documents() {
    std::string name = (fs::temp_directory_path() / "hocket-documents-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~Documents() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // Runs a command of a shell in a folder; returns whether it succeeded, and what it printed.
  std::pair<bool, std::string> run(const fs::path& in, const std::string& command) const {
    const fs::path script = folder_ / "command.sh";
    const fs::path log = folder_ / "command.log";
    std::ofstream(script) << "cd '" << in.string() << "' || exit\n" << command << "\n";
    const std::string line =
        "timeout 90 bash '" + script.string() + "' >'" + log.string() + "' 2>&1 </dev/null";
    const bool succeeded = std::system(line.c_str()) == 0;
    return {succeeded, read_text(log)};
  }

  fs::path folder_;
};

// ---- programs ------------------------------------------------------------------------------------------------------

// Pages that walk through an example: their blocks without a note are excerpts of these files.
std::vector<fs::path> files_walked_through(const Page& page) {
  if (page.path.filename() != "adding-a-backend.md") return {};
  return {"examples/toy_backend/toy_backend.hpp", "examples/toy_backend/toy_backend.cpp",
          "examples/toy_backend/main.cpp", "tests/backends/conformance_test.cpp"};
}

// What is wrong with what a block says of itself; empty where nothing is.
std::string what_is_wrong_with(const Page& page, const Block& block) {
  std::vector<fs::path> files = files_walked_through(page);
  if (block.note.rfind("from ", 0) == 0) {
    files = {block.note.substr(5)};
  } else if (block.note.rfind("wrap: ", 0) == 0) {
    const bool one_more = programs_of({page.path, {block}, {}}).size() == 1;
    return one_more ? "" : "'" + block.note + "' is none of the forms in tests/house/documents.hpp";
  } else if (files.empty()) {
    return "say in a comment before this block where it is from or how it is compiled; see "
           "tests/house/documents.hpp";
  }
  for (const fs::path& file : files)
    if (is_excerpt(block.text, read_text(source_root() / file))) return {};
  return "this block does not stand in " + files.front().generic_string() +
         (files.size() > 1 ? " nor in the other files of the example" : "");
}

TEST_F(Documents, ShowProgramsThatStandInTheNamedFileOrAreCompiled) {
  int programs = 0;
  for (const Page& page : pages()) {
    for (const Block& block : page.blocks) {
      if (block.language != "cpp" && block.language != "cmake") continue;
      ++programs;
      EXPECT_EQ(what_is_wrong_with(page, block), "") << place_of(page, block.line);
    }
  }
  EXPECT_GE(programs, 15);
}

TEST_F(Documents, ShowProgramsThatCompile) {
  int programs = 0;
  for (const Page& page : pages()) {
    for (const std::string& program : programs_of(page)) {
      const fs::path source = folder_ / ("page" + std::to_string(++programs) + ".cpp");
      std::ofstream(source) << program;
      const auto [compiles, messages] =
          run(folder_, "c++ -std=c++20 -fsyntax-only -I'" + (source_root() / "include").string() + "' '" +
                           source.string() + "'");
      EXPECT_TRUE(compiles) << messages.substr(0, 4000);
    }
  }
  EXPECT_GE(programs, 1);
}

TEST_F(Documents, AProgramThatDiffersFromItsFileIsReported) {
  const Page page = read_page("README.md",
                              "<!-- from examples/quickstart.cpp -->\n```cpp\nint main() {\n```\n"
                              "```cpp\nint x;\n```\n"
                              "<!-- wrap: sideways -->\n```cpp\nint x;\n```\n");
  ASSERT_EQ(page.blocks.size(), 3u);
  EXPECT_EQ(page.blocks[0].line, 3);
  for (const Block& block : page.blocks) EXPECT_NE(what_is_wrong_with(page, block), "") << block.note;
}

TEST_F(Documents, AnExcerptKeepsTheOrderOfItsFileAndMarksItsCuts) {
  const std::string file = "  a;\n  b;\n  c;\n";
  EXPECT_TRUE(is_excerpt("a;\nb;\n", file));
  EXPECT_TRUE(is_excerpt("a;\n// ...\nc;\n", file));
  EXPECT_FALSE(is_excerpt("a;\nc;\n", file));
  EXPECT_FALSE(is_excerpt("c;\n// ...\na;\n", file));
}

// ---- commands ------------------------------------------------------------------------------------------------------

// Commands that something else runs, and what.
struct Elsewhere {
  const char* begin;
  const char* why;
};
constexpr Elsewhere kElsewhere[] = {
    {"bash examples/run.sh", "installs packages and builds; its job is tried as `hocket run co2`"},
    {"bash tests/run.sh", "runs this very test"},
    {"cmake ", "tests/install configures, builds, installs, and uses what it installed"},
    {"export PKG_CONFIG_PATH=", "tests/install sets it to the prefix of its own"},
    {"g++ ", "tests/install builds a program with pkg-config"},
};

// Commands that take long are tried with less to do.
struct Shorter {
  const char* begin;
  const char* more;  // appended
};
constexpr Shorter kShorter[] = {
    {"hocket run co2", " --size 150 --tile 64 --evaluations 4"},
    {"bash tests/house/compile_cost.sh", " 1"},
};

std::string without_environment(const std::string& command) {
  return std::regex_replace(command, std::regex("^([A-Z_]+=[^ ]* +)+"), "");
}

template <class Entries>
auto entry_for(const Entries& entries, const std::string& command) {
  return std::find_if(std::begin(entries), std::end(entries),
                      [&](const auto& entry) { return command.rfind(entry.begin, 0) == 0; });
}

TEST_F(Documents, ShowCommandsThatWork) {
#ifndef HOCKET_PROGRAM
  GTEST_SKIP() << "the program hocket is not part of this build";
#else
  const fs::path program = HOCKET_PROGRAM;
  if (!fs::exists(program)) GTEST_SKIP() << program << " has not been built";
  const std::string setting =
      "unset HOCKET_DEVICES HOCKET_POLICY HOCKET_MEMORY HOCKET_TRACE HOCKET_CHECK HOCKET_WINDOW\n"
      "PATH='" +
      program.parent_path().string() + "':$PATH\nset -e\n";
  const bool opencl = run(folder_, setting + "hocket devices --devices opencl").first;
  int tried = 0;
  for (const Page& page : pages()) {
    for (const Block& block : page.blocks) {
      if (block.language != "sh") continue;
      for (const std::string& command : commands_of(block)) {
        const std::string bare = without_environment(command);
        if (entry_for(kElsewhere, bare) != std::end(kElsewhere)) continue;
        if (!opencl && command.find("opencl") != std::string::npos) continue;
        const bool ours =
            bare.rfind("hocket ", 0) == 0 || bare.rfind("bash ", 0) == 0 || bare.rfind("for p in ", 0) == 0;
        ASSERT_TRUE(ours) << place_of(page, block.line) << "nothing runs the command " << command;
        const auto* const shorter = entry_for(kShorter, bare);
        const std::string more = shorter != std::end(kShorter) ? shorter->more : "";
        const bool in_tree = bare.rfind("bash ", 0) == 0;
        const auto [succeeded, printed] = run(in_tree ? source_root() : folder_, setting + command + more);
        EXPECT_TRUE(succeeded) << place_of(page, block.line) << command << "\n" << printed.substr(0, 4000);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 5);
#endif
}

TEST_F(Documents, NameScriptsAndPresetsThatExistInTheirCommands) {
  const std::string presets = read_text(source_root() / "CMakePresets.json");
  const std::regex script("(?:bash|-S) +([a-z][^ ]*)");
  const std::regex preset("--preset +([a-z]+)");
  std::set<std::string> used;
  for (const Page& page : pages()) {
    for (const Block& block : page.blocks) {
      if (block.language != "sh") continue;
      for (const std::string& command : commands_of(block)) {
        const auto* const elsewhere = entry_for(kElsewhere, without_environment(command));
        if (elsewhere != std::end(kElsewhere)) used.insert(elsewhere->begin);
        std::smatch match;
        if (std::regex_search(command, match, script)) {
          EXPECT_TRUE(fs::exists(source_root() / match[1].str()))
              << place_of(page, block.line) << match[1] << " does not exist";
        }
        if (std::regex_search(command, match, preset)) {
          EXPECT_NE(presets.find("\"name\": \"" + match[1].str() + "\""), std::string::npos)
              << place_of(page, block.line) << "there is no preset " << match[1];
        }
      }
    }
  }
  for (const Elsewhere& entry : kElsewhere)
    EXPECT_TRUE(used.count(entry.begin)) << "no page shows '" << entry.begin << "' any more";
}

TEST_F(Documents, CommandsAreReadWithoutCommentsAndWithContinuedLines) {
  const Block block{"sh", "", "# first\nhocket devices   # what there is\nA=1 hocket run \\\n  co2\n", 1};
  const std::vector<std::string> expected = {"hocket devices", "A=1 hocket run   co2"};
  EXPECT_EQ(commands_of(block), expected);
  EXPECT_EQ(without_environment("A=1 B=2 hocket run"), "hocket run");
}

// ---- links and names -------------------------------------------------------------------------------------------------

TEST_F(Documents, LinkToFilesAndHeadingsThatExist) {
  const std::regex link(R"(\]\(([^)#]*)(?:#([^)]+))?\))");
  int links = 0;
  for (const Page& page : pages()) {
    for (const auto& [number, line] : page.prose) {
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
        const std::string target = (*it)[1];
        if (target.find("://") != std::string::npos) continue;
        ++links;
        const fs::path file = target.empty() ? page.path : page.path.parent_path() / target;
        ASSERT_TRUE(fs::exists(source_root() / file))
            << place_of(page, number) << target << " does not exist";
        if (!(*it)[2].matched) continue;
        const Page linked = read_page(file, read_text(source_root() / file));
        EXPECT_TRUE(anchors_of(linked).count((*it)[2]))
            << place_of(page, number) << file << " has no heading #" << (*it)[2];
      }
    }
  }
  EXPECT_GE(links, 8);
}

// Words in `code` that stand in no source file of the tree: tools, and what a user would write.
const std::set<std::string> kForeignWords = {"CMAKE_PREFIX_PATH", "PREFIX", "libs", "cflags", "app",
                                             "PKG_CONFIG_PATH",   "NDEBUG"};

TEST_F(Documents, NameFilesAndIdentifiersThatExist) {
  std::set<std::string> known = kForeignWords;
  const std::set<std::string> kinds = {".hpp", ".cpp", ".in", ".sh", ".txt", ".cmake", ".json", ".py"};
  for (const char* top : {"include", "src", "backends", "kernels", "examples", "tests", "bench", "cmake"}) {
    for (const auto& entry : fs::recursive_directory_iterator(source_root() / top)) {
      if (!entry.is_regular_file() || !kinds.count(entry.path().extension().string())) continue;
      known.merge(words_of(read_text(entry.path())));
      known.merge(words_of(entry.path().lexically_relative(source_root()).generic_string()));
    }
  }
  for (const char* file : {"CMakeLists.txt", "CMakePresets.json"})
    known.merge(words_of(read_text(source_root() / file)));
  const std::regex path("(?:include|src|backends|kernels|examples|tests|bench|docs|cmake)/[A-Za-z0-9_./-]*");
  int spans = 0;
  for (const Page& page : pages()) {
    for (const auto& [number, line] : page.prose) {
      for (const std::string& span : code_spans(line)) {
        ++spans;
        if (std::regex_match(span, path)) {
          EXPECT_TRUE(fs::exists(source_root() / span))
              << place_of(page, number) << span << " does not exist";
        }
        for (const std::string& word : words_of(span))
          EXPECT_TRUE(word.size() < 3 || known.count(word))
              << place_of(page, number) << "'" << word << "' in `" << span << "` is nowhere in the tree";
      }
    }
  }
  EXPECT_GE(spans, 100);
}

}  // namespace
}  // namespace hocket::house
