// SPDX-License-Identifier: Apache-2.0
#include "engine/task_body.hpp"

namespace hocket::bench {

void compute(std::uint64_t iterations) noexcept {
  std::uint64_t value = iterations;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));  // one step after the other
  }
}

void Stamps::reset(std::size_t tasks) {
  stamps_ = std::make_unique<Stamp[]>(tasks);
  size_ = tasks;
  clock_ = 0;
}

void Stamps::stamp(std::size_t task) noexcept {
  if (task >= size_) return;  // a task that does not exist leaves another one without its stamp
  Stamp& stamp = stamps_[task];
  stamp.runs.fetch_add(1);
  stamp.begin = clock_.fetch_add(1);
  compute(30);  // lets tasks that should not overlap do so
  stamp.end = clock_.fetch_add(1);
}

std::string Stamps::check(const Workload& workload, std::size_t times) const {
  if (size_ != workload.tasks) return "stamps were kept for another number of tasks";
  for (std::size_t task = 0; task < size_; ++task) {
    if (stamps_[task].runs != times)
      return "task " + std::to_string(task) + " ran " + std::to_string(stamps_[task].runs) + " times, not " +
             std::to_string(times);
  }
  if (workload.kind.form == Form::ForkJoin) return {};
  for (std::size_t task = 0; task < size_; ++task) {
    for (const std::uint32_t successor : workload.successors(task)) {
      if (stamps_[successor].begin < stamps_[task].end)
        return "task " + std::to_string(successor) + " began before task " + std::to_string(task) +
               " had ended";
    }
  }
  return {};
}

}  // namespace hocket::bench
