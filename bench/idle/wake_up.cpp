// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "idle/probes.hpp"

namespace hocket::bench::idle {
namespace {

constexpr std::chrono::milliseconds kPause{60};

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t));

void futex_wait(Word& word, std::uint32_t while_it_is) {
  while (word.load(std::memory_order_acquire) == while_it_is)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
}
void set_and_wake(Word& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// A thread that sleeps on a futex and answers each call: the floor for a worker that sleeps.
class Echo {
 public:
  Echo() : thread_([this] { serve(); }) {}
  ~Echo() {
    stop_.store(true, std::memory_order_relaxed);  // published by the wake
    set_and_wake(call_, ++number_);
    thread_.join();
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  /// ns until the thread has been woken and has answered; the caller spins meanwhile.
  double one_way() {
    const auto begin = Clock::now();
    set_and_wake(call_, ++number_);
    while (answer_.load(std::memory_order_acquire) != number_) {
    }
    return nanoseconds_since(begin);
  }
  /// The same where the caller sleeps until it is woken in its turn.
  double round_trip() {
    const auto begin = Clock::now();
    set_and_wake(call_, ++number_);
    futex_wait(answer_, number_ - 1);
    return nanoseconds_since(begin);
  }

 private:
  void serve() {
    for (std::uint32_t seen = 0;; ++seen) {
      futex_wait(call_, seen);
      if (stop_.load(std::memory_order_relaxed)) return;
      set_and_wake(answer_, seen + 1);
    }
  }

  Word call_{0};
  Word answer_{0};
  std::atomic<bool> stop_{false};
  std::uint32_t number_ = 0;
  std::thread thread_;
};

}  // namespace

void wake_up(const Extent& extent) {
  constexpr unsigned kWorkers = 2;
  Runtime runtime(cpu_workers(kWorkers));
  Echo echo;
  std::atomic<int> started{0};
  std::atomic<int>* const flag = &started;
  const Codelet start{"start", cpu([flag](View<int>) { flag->fetch_add(1, std::memory_order_release); })};
  const Data<int> data = runtime.data<int>({1});
  runtime.overwrite(data)[0] = 0;
  const int samples = extent.rounds * (extent.quick ? 5 : 20);
  for (int i = 1; i <= samples; ++i) {
    std::this_thread::sleep_for(kPause);
    const auto begin = Clock::now();
    const Task task = runtime.submit(start, data);
    while (started.load(std::memory_order_acquire) != i) {
    }
    print_sample("wake_up", "submission to start", "hocket", kWorkers, nanoseconds_since(begin), "ns");
    task.get();
    std::this_thread::sleep_for(kPause);
    print_sample("wake_up", "futex, to a spinning thread", "floor", 1, echo.one_way(), "ns");
    std::this_thread::sleep_for(kPause);
    print_sample("wake_up", "futex, round trip", "floor", 1, echo.round_trip(), "ns");
  }
}

}  // namespace hocket::bench::idle
