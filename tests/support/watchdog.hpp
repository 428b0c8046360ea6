// SPDX-License-Identifier: Apache-2.0
/// Keeps a test that hangs from hanging the suite: `Watchdog` ends the process with a message that names the
/// test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace hocket::testing {

/// Aborts the process where it is still alive after `limit`. Costs a sleeping thread.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds{100}) {
    const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = test != nullptr ? std::string(test->test_suite_name()) + "." + test->name() : "a test";
    thread_ = std::thread([this, limit, name = std::move(name)] {
      std::unique_lock lock(mutex_);
      if (wakeup_.wait_for(lock, limit, [this] { return over_; })) return;
      std::fprintf(stderr, "watchdog: %s still runs after %lld s; it hangs\n", name.c_str(),
                   static_cast<long long>(limit.count()));
      std::abort();
    });
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wakeup_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;  ///< Guards `over_`.
  std::condition_variable wakeup_;
  bool over_ = false;
  std::thread thread_;
};

/// A test that must not hang. Suites name themselves after it: `using Errors = testing::WatchedTest;`.
class WatchedTest : public ::testing::Test {
 private:
  Watchdog watchdog_;
};

}  // namespace hocket::testing
