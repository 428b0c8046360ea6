// SPDX-License-Identifier: Apache-2.0
/// One thread that runs jobs in the order of submission: the emulated device's command queue. `submit` may be
/// called from any thread, also from a job. The destructor runs what was submitted, then ends the thread.
/// Jobs must not throw.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hocket::dpu {

class SerialExecutor {
 public:
  SerialExecutor();
  ~SerialExecutor();
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  void submit(std::function<void()> job);
  /// Returns when every job submitted before the call has run. Not from a job.
  void drain();

 private:
  void work();

  std::mutex mutex_;  // protects jobs_ and ending_
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace hocket::dpu
