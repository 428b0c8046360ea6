// SPDX-License-Identifier: Apache-2.0
/// Text on the console and in files, with every failure noticed: a closed pipe, a full disk, a missing
/// folder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::jobs {

/// Makes writing to a closed pipe an error that can be reported rather than the end of the process. Call
/// once, at the start of `main`.
void survive_closed_pipes();

/// Writes to standard output and flushes. Throws `FileError` where that fails.
void print(std::string_view text);
/// Writes "PROGRAM: message" to standard error. Failures are ignored: there is nobody left to tell.
void complain(std::string_view program, std::string_view message);

/// Writes a whole file (text or bytes). Throws `FileError` that names it and says why; what was begun is
/// removed.
void write_file(const std::string& path, std::string_view content);
/// Throws `FileError` where the folder that the file is to lie in does not exist; an empty path is fine.
void require_folder_of(const std::string& path);
/// Makes a folder and those above it. Throws `FileError`.
void make_folder(const std::string& path);
std::string join_path(const std::string& folder, std::string_view file);

/// A table for the console: columns two spaces apart, the first ones (text) to the left, the others to the
/// right.
class TextTable {
 public:
  /// `left`: how many columns, from the first, are text.
  TextTable(std::vector<std::string> heading, std::size_t left) : left_(left), rows_{std::move(heading)} {}
  /// Missing cells at the end of a row are empty.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

// Numbers for people: three significant digits and a unit, plain ASCII.
std::string show_time(double seconds);                ///< "1.25 ms"
std::string show_size(double bytes);                  ///< "4.00 MiB"
std::string show_gflops(double flops_per_second);     ///< "1.25 GFLOP/s"
std::string show_bandwidth(double bytes_per_second);  ///< "12.3 GB/s"
std::string show_percent(double share);               ///< 0.123 is "12.3 %"

}  // namespace hocket::jobs
