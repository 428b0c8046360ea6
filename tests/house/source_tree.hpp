// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the project's own source tree for the tests of the house rules. Throws std::runtime_error when a file
// cannot be read, so that a wrong folder fails a test instead of passing it with nothing checked.

#include <filesystem>
#include <string>
#include <vector>

namespace hocket::house {

/// One #include line. `target` is the text between the quotes or angle brackets.
struct Include {
  int line = 0;
  bool quoted = false;
  std::string target;
};

/// One row of the table in docs/architecture.md. Folders are relative to the top of the tree.
struct ArrowRow {
  std::string folder;
  std::vector<std::string> may_include;
};

/// The folder that holds the top-level CMakeLists.txt.
std::filesystem::path source_root();

/// All C++ files below the given top-level folders, sorted, relative to source_root(). Folders that do not
/// exist are left out.
std::vector<std::filesystem::path> source_files(const std::vector<std::string>& folders);

std::string read_text(const std::filesystem::path& path);
std::vector<std::string> lines_of(const std::string& text);

/// The #include lines of a file's text; those inside comments do not count.
std::vector<Include> includes_of(const std::string& text);

/// The rows between the include-arrows markers of a Markdown text. Throws std::runtime_error when a marker is
/// missing or a row is malformed.
std::vector<ArrowRow> arrow_table(const std::string& markdown);

/// The table's folder that holds `file` (the longest that matches), or "" when none does.
std::string component_of(const std::filesystem::path& file, const std::vector<ArrowRow>& rows);

/// The file in the tree that `include`, written in `file`, names, relative to source_root(); empty when it
/// names none (a system or third-party header).
std::filesystem::path resolve(const Include& include, const std::filesystem::path& file);

}  // namespace hocket::house
