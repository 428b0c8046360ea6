// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hocket::jobs {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr auto kPause = std::chrono::milliseconds(100);

bool terminal_takes_it() {
  const char* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void write(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

/// Back to the start of the line, and the rest of it erased.
constexpr std::string_view kClear = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine() : active_(terminal_takes_it()) {}
ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::show(const std::string& what, std::size_t done, std::size_t of) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!active_ || now < next_) return;
  next_ = now + kPause;
  const std::size_t filled = of == 0 ? 0 : kBarWidth * std::min(done, of) / of;
  std::string line = fmt::format("[{}{}] {}/{} {}", std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), done, of, what);
  line.resize(std::min(line.size(), terminal_width() - 1));
  write(fmt::format("{}{}", kClear, line));
  drawn_ = true;
}

void ProgressLine::finish() {
  const std::lock_guard lock(mutex_);
  if (drawn_) write(kClear);
  active_ = drawn_ = false;
}

}  // namespace hocket::jobs
