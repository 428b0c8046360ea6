// SPDX-License-Identifier: Apache-2.0
#include "pim/serial_executor.hpp"

#include <future>
#include <memory>
#include <utility>

namespace hocket::dpu {

SerialExecutor::SerialExecutor() : thread_([this] { work(); }) {}

SerialExecutor::~SerialExecutor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void SerialExecutor::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void SerialExecutor::drain() {
  auto reached = std::make_shared<std::promise<void>>();
  auto future = reached->get_future();
  submit([reached] { reached->set_value(); });
  future.wait();
}

void SerialExecutor::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::exchange(jobs_.front(), nullptr);
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds may submit when it goes, which needs the lock
    lock.lock();
  }
}

}  // namespace hocket::dpu
