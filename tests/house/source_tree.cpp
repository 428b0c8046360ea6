// SPDX-License-Identifier: Apache-2.0
#include "house/source_tree.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace hocket::house {
namespace fs = std::filesystem;

fs::path source_root() { return HOCKET_SOURCE_DIR; }

std::vector<fs::path> source_files(const std::vector<std::string>& folders) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    const fs::path top = source_root() / folder;
    if (!fs::exists(top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top)) {
      const std::string extension = entry.path().extension().string();
      if (entry.is_regular_file() && (extension == ".hpp" || extension == ".cpp"))
        files.push_back(entry.path().lexically_relative(source_root()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  std::vector<Include> found;
  bool in_comment = false;
  int number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    std::smatch match;
    if (!in_comment && std::regex_search(line, match, pattern))
      found.push_back({number, match[1] == "\"", match[2]});
    // Enough for block comments that begin or end on a line of their own; no literal holds such marks first.
    const auto opens = line.find("/*");
    const auto closes = line.rfind("*/");
    if (opens != std::string::npos && line.find("//") > opens)
      in_comment = closes == std::string::npos || closes < opens;
    else if (in_comment && closes != std::string::npos)
      in_comment = false;
  }
  return found;
}

std::vector<ArrowRow> arrow_table(const std::string& markdown) {
  const auto begin = markdown.find("<!-- include-arrows:begin -->");
  const auto end = markdown.find("<!-- include-arrows:end -->");
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw std::runtime_error("docs/architecture.md has no table between the include-arrows markers");

  static const std::regex row_pattern(R"(^\|([^|]*)\|([^|]*)\|\s*$)");
  static const std::regex name_pattern("`([^`]+)`");
  std::vector<ArrowRow> rows;
  for (const std::string& line : lines_of(markdown.substr(begin, end - begin))) {
    std::smatch row;
    if (line.empty() || line[0] != '|') continue;
    if (!std::regex_match(line, row, row_pattern))
      throw std::runtime_error("the include-arrows table has a row that is not `| folder | may include |`: " +
                               line);
    const std::string folder = row[1];
    const std::string allowed = row[2];
    std::smatch name;
    if (!std::regex_search(folder, name, name_pattern)) continue;  // the heading and the line under it
    ArrowRow parsed{name[1], {}};
    for (auto at = std::sregex_iterator(allowed.begin(), allowed.end(), name_pattern);
         at != std::sregex_iterator(); ++at)
      parsed.may_include.push_back((*at)[1]);
    rows.push_back(std::move(parsed));
  }
  return rows;
}

std::string component_of(const fs::path& file, const std::vector<ArrowRow>& rows) {
  const std::string path = file.generic_string();
  std::string best;
  for (const ArrowRow& row : rows)
    if (path.rfind(row.folder + "/", 0) == 0 && row.folder.size() > best.size()) best = row.folder;
  return best;
}

fs::path resolve(const Include& include, const fs::path& file) {
  std::vector<fs::path> places;
  if (include.quoted) places.push_back(file.parent_path());
  for (const char* folder : {"include", "src", "backends", "kernels", "examples", "tests", "bench"})
    places.emplace_back(folder);
  for (const fs::path& place : places) {
    fs::path candidate = (place / include.target).lexically_normal();
    if (fs::is_regular_file(source_root() / candidate)) return candidate;
  }
  return {};
}

}  // namespace hocket::house
