// SPDX-License-Identifier: Apache-2.0
#include "engine/gate.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "engine/task_body.hpp"

namespace hocket::bench {

using namespace std::chrono_literals;

Gate::~Gate() {
  open_ = true;
  done_ = true;
  if (guard_.joinable()) guard_.join();
}

Gate::Memory Gate::memory_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return {heap.uordblks + heap.hblkhd, resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
}

void Gate::begin() {
  counted = 0;
  // A runtime may stop its submitter until tasks have run, which these do not before the gate opens.
  guard_ = std::thread([this] {
    const auto limit = std::chrono::steady_clock::now() + 30s;
    while (!done_ && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
    open_ = true;
  });
  before_ = memory_in_use();
}

void Gate::hold() noexcept {
  ++held_;
  while (!open_) std::this_thread::sleep_for(100us);
}

void Gate::wait_until_held(int workers) const {
  const auto limit = std::chrono::steady_clock::now() + 1s;
  while (held_ < workers && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(100us);
}

void Gate::all_submitted() {
  const Memory now = memory_in_use();
  const std::size_t in_flight = tasks_ - std::min<std::size_t>(tasks_, counted);
  const auto growth = [](std::size_t before, std::size_t after) {
    return after > before ? after - before : 0;
  };
  if (2 * in_flight >= tasks_ && in_flight > 0) {
    bytes_per_task_ = static_cast<double>(
                          std::max(growth(before_.heap, now.heap), growth(before_.resident, now.resident))) /
                      static_cast<double>(in_flight);
  }
  open_ = true;
}

}  // namespace hocket::bench
