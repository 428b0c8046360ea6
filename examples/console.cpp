// SPDX-License-Identifier: Apache-2.0
#include "console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <hocket/error.hpp>
#include <system_error>

namespace hocket::jobs {
namespace {

/// The number of characters of UTF-8 text: what its width in a terminal is, near enough.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

template <std::size_t Size>
std::string with_unit(double number, double step, const std::array<const char*, Size>& units) {
  if (!std::isfinite(number)) return "-";
  std::size_t unit = 0;
  // Rounded up, a number must not read as 1000 of a unit that has a larger one.
  while (unit + 1 < Size && std::abs(number) >= step * 0.9995) {
    number /= step;
    ++unit;
  }
  const double size = std::abs(number);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", number, decimals, units[unit]);
}

[[noreturn]] void fail(const std::string& path, const std::string& doing, int error) {
  throw FileError(fmt::format("{}: cannot be {}: {}", path, doing, std::strerror(error)));
}

}  // namespace

void survive_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

void print(std::string_view text) {
  errno = 0;
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0)
    throw FileError(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
}

void complain(std::string_view program, std::string_view message) {
  const std::string line = fmt::format("{}: {}\n", program, message);
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

void write_file(const std::string& path, std::string_view content) {
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(path, "opened for writing", errno);
  const bool all = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const int write_error = errno;
  const bool closed = std::fclose(file) == 0;
  if (all && closed) return;
  const int error = all ? errno : write_error;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  fail(path, "written", error);
}

void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  throw FileError(fmt::format("{}: cannot be written: there is no folder {}", path, folder.string()));
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (std::filesystem::is_directory(path)) return;
  throw FileError(fmt::format("{}: this folder cannot be made: {}", path,
                              error ? error.message() : "there is a file of that name"));
}

std::string join_path(const std::string& folder, std::string_view file) {
  return (std::filesystem::path(folder) / file).string();
}

std::string TextTable::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width(row[c]), ' ');
      line += c == 0 ? "" : "  ";
      line += c < left_ ? row[c] + space : space + row[c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string show_time(double seconds) {
  if (seconds == 0.0) return "0 s";
  return with_unit(seconds * 1e9, 1e3, std::array{"ns", "us", "ms", "s"});
}

std::string show_size(double bytes) {
  if (bytes >= 0 && bytes < 1024) return fmt::format("{:.0f} B", bytes);
  return with_unit(bytes / 1024.0, 1024.0, std::array{"KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string show_gflops(double flops_per_second) {
  return with_unit(flops_per_second / 1e6, 1e3, std::array{"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"});
}

std::string show_bandwidth(double bytes_per_second) {
  return with_unit(bytes_per_second / 1e6, 1e3, std::array{"MB/s", "GB/s", "TB/s", "PB/s"});
}

std::string show_percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100.0) : "-";
}

}  // namespace hocket::jobs
