// SPDX-License-Identifier: Apache-2.0
/// Holds workers back while tasks are submitted, and measures how much memory the process has taken meanwhile.
///
/// Before the first task of a workload is submitted, every worker but the submitting thread (where a runtime counts
/// that one) is given a task that waits in `hold()`. `all_submitted()` then measures and lets them go. Memory is the
/// larger of two growths since `begin()`: of the live blocks of malloc (mallinfo2: in use in arenas, and mapped),
/// which sees blocks that reuse resident pages, and of resident pages (/proc/self/statm), which sees pools that map
/// memory themselves. A runtime that runs tasks while they are submitted, or stops the submitter while many
/// tasks wait, has few in flight then, and there is nothing to report.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>

namespace hocket::bench {

class Gate {
 public:
  explicit Gate(std::size_t tasks) : tasks_(tasks) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate();

  /// Notes the memory in use. From here on a submission that does not get on within seconds opens the gate.
  void begin();
  /// Called by the tasks that keep the workers busy.
  void hold() noexcept;
  /// Returns once so many are held, or after a second.
  void wait_until_held(int workers) const;
  /// Called by the submitter when all tasks are in flight.
  void all_submitted();

  /// Of each task in flight; nothing where fewer than half of the tasks were.
  std::optional<double> bytes_per_task() const noexcept { return bytes_per_task_; }

 private:
  struct Memory {
    std::size_t heap = 0;      // bytes
    std::size_t resident = 0;  // bytes
  };
  static Memory memory_in_use();

  std::size_t tasks_;
  Memory before_;
  std::optional<double> bytes_per_task_;
  std::atomic<int> held_{0};
  std::atomic<bool> open_{false};
  std::atomic<bool> done_{false};
  std::thread guard_;
};

}  // namespace hocket::bench
