// SPDX-License-Identifier: Apache-2.0
/// A queue of ready tasks. The owner works at the back, where data is still in its cache; thieves take from the
/// front. Each entry holds a counted reference. Thread-safe; one short lock each call.
#pragma once

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
  detail::TaskRef pop_newest() {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return {};
    detail::TaskRef task = std::move(tasks_.back());
    tasks_.pop_back();
    return task;
  }
  detail::TaskRef pop_oldest() {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return {};
    detail::TaskRef task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::deque<detail::TaskRef> tasks_;
};

}  // namespace hocket::engine
