// SPDX-License-Identifier: Apache-2.0
// The arrows of docs/architecture.md hold in the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "house/source_tree.hpp"

namespace hocket::house {
namespace {

const std::vector<std::string> kFolders = {"include", "src", "backends", "kernels", "examples", "bench"};

// examples/toy_backend is a project of its own, outside the tree as far as its includes go.
bool is_own_project(const std::filesystem::path& file) {
  return file.generic_string().rfind("examples/toy_backend/", 0) == 0;
}

std::vector<ArrowRow> documented_rows() {
  return arrow_table(read_text(source_root() / "docs/architecture.md"));
}

// What breaks the arrows in one file, as "file:line: message" lines.
std::vector<std::string> broken_arrows(const std::filesystem::path& file, const std::string& text,
                                       const std::vector<ArrowRow>& rows) {
  const std::string from = component_of(file, rows);
  if (from.empty()) return {file.generic_string() + ": its folder is not in the table"};
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ArrowRow& r) { return r.folder == from; });
  std::vector<std::string> broken;
  for (const Include& include : includes_of(text)) {
    const std::string place = file.generic_string() + ":" + std::to_string(include.line) + ": ";
    const std::filesystem::path target = resolve(include, file);
    if (target.empty()) {
      if (include.quoted)
        broken.push_back(place + "\"" + include.target + "\" is not in the tree; use <> for others");
      continue;
    }
    const std::string to = component_of(target, rows);
    const bool allowed = to == from || std::find(row->may_include.begin(), row->may_include.end(), to) !=
                                           row->may_include.end();
    if (!allowed)
      broken.push_back(place + from + " may not include " + (to.empty() ? target.generic_string() : to));
  }
  return broken;
}

TEST(Architecture, TableHasARowForEachFolderWithSources) {
  const auto rows = documented_rows();
  ASSERT_GE(rows.size(), 10u);
  for (const auto& file : source_files(kFolders))
    EXPECT_NE(component_of(file, rows), "") << file << ": docs/architecture.md has no row for its folder";
}

TEST(Architecture, ArrowsOfTheTableRunInOneDirection) {
  std::set<std::string> above;
  for (const ArrowRow& row : documented_rows()) {
    for (const std::string& folder : row.may_include)
      EXPECT_TRUE(above.count(folder)) << row.folder << " includes " << folder << ", which is not above it";
    EXPECT_TRUE(above.insert(row.folder).second) << row.folder << " has two rows";
  }
}

TEST(Architecture, FilesIncludeOnlyWhatTheTableAllows) {
  const auto rows = documented_rows();
  int checked = 0;
  for (const auto& file : source_files(kFolders)) {
    if (is_own_project(file)) continue;
    ++checked;
    for (const std::string& message : broken_arrows(file, read_text(source_root() / file), rows))
      ADD_FAILURE() << message;
  }
  EXPECT_GT(checked, 0);
}

TEST(Architecture, AnUpwardIncludeIsReportedWithItsLine) {
  const std::vector<ArrowRow> rows = {{"include/hocket", {}}, {"src/engine", {"include/hocket"}}};
  const auto broken =
      broken_arrows("src/engine/none.cpp", "#include <vector>\n#include \"house/source_tree.hpp\"\n", rows);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0], "src/engine/none.cpp:2: src/engine may not include tests/house/source_tree.hpp");
}

TEST(Architecture, PublicHeadersIncludeOnlyThemselvesAndTheStandardLibrary) {
  for (const auto& file : source_files({"include"})) {
    for (const Include& include : includes_of(read_text(source_root() / file))) {
      const bool own = include.target.rfind("hocket/", 0) == 0;
      const bool standard = include.target.find_first_of("/.") == std::string::npos;
      EXPECT_TRUE(!include.quoted && (own || standard))
          << file << ":" << include.line << ": " << include.target;
    }
  }
}

TEST(Architecture, IncludesInCommentsDoNotCount) {
  const auto found =
      includes_of("// #include <a>\n/*\n#include <b>\n*/\n  # include <c>\n#include \"d/e.hpp\"\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].target, "c");
  EXPECT_EQ(found[1].target, "d/e.hpp");
  EXPECT_EQ(found[1].line, 6);
}

}  // namespace
}  // namespace hocket::house
