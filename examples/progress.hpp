// SPDX-License-Identifier: Apache-2.0
/// A line on the terminal that says how far a job is; it is rewritten in place and gone when the job is done.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

namespace hocket::jobs {

/// Silent where standard error is no terminal. Any thread may call `show`; it writes ten times a second at
/// most.
class ProgressLine {
 public:
  ProgressLine();
  /// Clears the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& what, std::size_t done, std::size_t of);
  /// Clears the line and shows no other.
  void finish();

 private:
  std::mutex mutex_;  // protects all below
  bool active_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace hocket::jobs
