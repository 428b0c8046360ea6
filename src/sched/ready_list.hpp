// SPDX-License-Identifier: Apache-2.0
/// Ready tasks in the order in which they should run: by priority, highest first, and among equals in order of arrival.
/// Not thread-safe. Push and pop cost O(log of the number of distinct priorities).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <hocket/policy.hpp>
#include <map>
#include <optional>

namespace hocket::sched {

struct ListedTask {
  ReadyTaskId id{};
  std::uint64_t devices = 0;  ///< Bit set of those that can run it.
};

/// Bit set of the devices among the candidates.
inline std::uint64_t devices_of(const ReadyTask& task) noexcept {
  std::uint64_t mask = 0;
  for (const Candidate& candidate : task.candidates) mask |= std::uint64_t{1} << index(candidate.device);
  return mask;
}

class ReadyList {
 public:
  void push(int priority, const ListedTask& task) {
    by_priority_[priority].push_back(task);
    ++size_;
  }
  bool empty() const noexcept { return size_ == 0; }

  /// The first task that `device` can run.
  std::optional<ReadyTaskId> pop_oldest(DeviceId device) { return pop(device, false); }
  /// The one that arrived last among those of the highest priority that `device` can run.
  std::optional<ReadyTaskId> pop_newest(DeviceId device) { return pop(device, true); }

 private:
  std::optional<ReadyTaskId> pop(DeviceId device, bool newest) {
    const std::uint64_t bit = std::uint64_t{1} << index(device);
    for (auto level = by_priority_.begin(); level != by_priority_.end(); ++level) {
      std::deque<ListedTask>& tasks = level->second;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        const std::size_t at = newest ? tasks.size() - 1 - i : i;
        if ((tasks[at].devices & bit) == 0) continue;
        const ReadyTaskId id = tasks[at].id;
        tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(at));
        if (tasks.empty()) by_priority_.erase(level);
        --size_;
        return id;
      }
    }
    return std::nullopt;
  }

  std::map<int, std::deque<ListedTask>, std::greater<>> by_priority_;
  std::size_t size_ = 0;
};

}  // namespace hocket::sched
