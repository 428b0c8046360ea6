// SPDX-License-Identifier: Apache-2.0
#include "house/documents.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <stdexcept>

#include "house/source_tree.hpp"

namespace hocket::house {
namespace fs = std::filesystem;

namespace {

/// Each line without indentation and trailing blanks.
std::vector<std::string> bare_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    const auto first = line.find_first_not_of(' ');
    const auto last = line.find_last_not_of(' ');
    lines.push_back(first == std::string::npos ? "" : line.substr(first, last - first + 1));
  }
  return lines;
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

Page read_page(const fs::path& path, const std::string& text) {
  static const std::regex comment("<!-- *(.*?) *-->");
  Page page;
  page.path = path;
  int number = 0;
  bool inside = false;
  std::string previous;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (!inside) continue;
      std::smatch match;
      const bool noted = std::regex_match(previous, match, comment);
      page.blocks.push_back({line.substr(3), noted ? match[1].str() : "", "", number + 1});
    } else if (inside) {
      page.blocks.back().text += line + "\n";
    } else {
      page.prose.emplace_back(number, line);
    }
    previous = line;
  }
  if (inside) throw std::runtime_error(path.string() + ": a block of code is not closed");
  return page;
}

std::vector<Page> pages() {
  std::vector<fs::path> paths{"README.md"};
  for (const auto& entry : fs::directory_iterator(source_root() / "docs"))
    if (entry.path().extension() == ".md") paths.push_back(entry.path().lexically_relative(source_root()));
  std::sort(paths.begin(), paths.end());
  std::vector<Page> found;
  for (const fs::path& path : paths) found.push_back(read_page(path, read_text(source_root() / path)));
  return found;
}

bool is_excerpt(const std::string& block, const std::string& text) {
  const std::vector<std::string> where = bare_lines(text);
  auto from = where.begin();
  std::vector<std::string> part;
  const auto part_follows = [&] {
    const auto at = std::search(from, where.end(), part.begin(), part.end());
    if (at == where.end() && !part.empty()) return false;
    from = at + static_cast<std::ptrdiff_t>(part.size());
    part.clear();
    return true;
  };
  for (const std::string& line : bare_lines(block)) {
    if (line != "// ...")
      part.push_back(line);
    else if (!part_follows())
      return false;
  }
  return part_follows();
}

std::vector<std::string> programs_of(const Page& page) {
  static const std::regex function("wrap: function *(\\(.*\\))?");
  const std::string start =
      "#include <cstdio>\n#include <span>\n#include <stdexcept>\n#include <string>\n#include <vector>\n"
      "#include <hocket/hocket.hpp>\n#include <hocket/kernels.hpp>\nnamespace hk = hocket;\n";
  std::vector<std::string> programs;
  std::string together;
  for (const Block& block : page.blocks) {
    std::smatch match;
    const std::string code =
        "#line " + std::to_string(block.line) + " \"" + page.path.generic_string() + "\"\n" + block.text;
    const std::string space = "namespace block_" + std::to_string(block.line) + " {\n";
    if (block.note == "wrap: file") {
      programs.push_back(code);
    } else if (block.note == "wrap: namespace") {
      together += space + code + "}\n";
    } else if (std::regex_match(block.note, match, function)) {
      const std::string parameters = match[1].matched ? match[1].str() : "()";
      together += space + "void block" + parameters + " {\n" + code + "}\n}\n";
    }
  }
  if (!together.empty()) programs.push_back(start + together);
  return programs;
}

std::vector<std::string> commands_of(const Block& block) {
  std::vector<std::string> commands;
  std::string command;
  for (std::string line : lines_of(block.text)) {
    const std::size_t comment = line.rfind('#', 0) == 0 ? 0 : line.find(" #");
    line = line.substr(0, comment);
    line.erase(line.find_last_not_of(' ') + 1);
    const bool continued = !line.empty() && line.back() == '\\';
    if (continued) line.pop_back();
    command += line;
    if (continued) continue;
    if (!command.empty()) commands.push_back(command);
    command.clear();
  }
  return commands;
}

std::vector<std::string> code_spans(const std::string& line) {
  std::vector<std::string> spans;
  std::size_t at = 0;
  while ((at = line.find('`', at)) != std::string::npos) {
    const std::size_t end = line.find('`', at + 1);
    if (end == std::string::npos) break;
    spans.push_back(line.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return spans;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word_character(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) words.insert(text.substr(i, end - i));
    i = end;
  }
  return words;
}

std::set<std::string> anchors_of(const Page& page) {
  std::set<std::string> anchors;
  for (const auto& [number, line] : page.prose) {
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(text + 1)) {
      if (c == ' ')
        anchor += '-';
      else if (is_word_character(c) || c == '-')
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

}  // namespace hocket::house
