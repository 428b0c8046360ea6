// SPDX-License-Identifier: Apache-2.0
/// A queue of placed tasks whose operands have come, taken in their order. Each entry holds a counted reference.
/// Thread-safe; one short lock each call.
#pragma once

#include <algorithm>
#include <deque>
#include <mutex>

#include "graph/task_node.hpp"

namespace hocket::engine {

class ReadyQueue {
 public:
  void push(detail::TaskNode& task) {
    detail::TaskRef reference(&task);
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(reference));
  }
  detail::TaskRef pop_oldest() {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return {};
    detail::TaskRef task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }
  /// Takes that task out, wherever it stands; false where it is not in the queue.
  bool remove(const detail::TaskNode& task) {
    detail::TaskRef removed;  // released after the lock
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                    [&](const detail::TaskRef& entry) { return entry.get() == &task; });
    if (found == tasks_.end()) return false;
    removed = std::move(*found);
    tasks_.erase(found);
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<detail::TaskRef> tasks_;
};

}  // namespace hocket::engine
