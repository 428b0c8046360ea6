// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the project's Markdown pages for the test that what they show is true.
//
// A C++ block says in an HTML comment on the line before it where its code stands or how it is compiled:
//   <!-- from FILE -->           the block is an excerpt of that file, lines in sequence, but for their indentation;
//                                a line `// ...` marks a cut
//   <!-- wrap: file -->          it is a whole file
//   <!-- wrap: namespace -->     it is declarations
//   <!-- wrap: function (PARAMETERS) -->   it is the body of a function; the parameters, which may be left out, give
//                                it what it does not make itself
// Wrapped blocks see <hocket/hocket.hpp>, <hocket/kernels.hpp>, some standard headers, and `namespace hk = hocket`.

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hocket::house {

/// A fenced block of code.
struct Block {
  std::string language;
  std::string note;  ///< The text of the comment on the line before it; empty where there is none.
  std::string text;
  int line = 0;  ///< Of its first line in the page, counted from 1.
};

/// A page: its blocks, and the lines outside of them with their numbers.
struct Page {
  std::filesystem::path path;  ///< Relative to source_root().
  std::vector<Block> blocks;
  std::vector<std::pair<int, std::string>> prose;
};

Page read_page(const std::filesystem::path& path, const std::string& text);
/// README.md and the pages of docs/.
std::vector<Page> pages();

/// Whether the block stands in the text: see above.
bool is_excerpt(const std::string& block, const std::string& text);

/// The programs of a page's wrapped blocks, each to be compiled by itself: one for each whole file, and one for all
/// others. `#line` directives lead a compiler's messages back to the page.
std::vector<std::string> programs_of(const Page& page);

/// The commands of a shell block: comments are gone, continued lines joined.
std::vector<std::string> commands_of(const Block& block);

/// The spans of `code` in a line, without their marks.
std::vector<std::string> code_spans(const std::string& line);

/// The identifiers in a text.
std::set<std::string> words_of(const std::string& text);

/// The anchors that the headings of a page give, as GitHub makes them.
std::set<std::string> anchors_of(const Page& page);

}  // namespace hocket::house
