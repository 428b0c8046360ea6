// SPDX-License-Identifier: Apache-2.0
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "idle/probes.hpp"

namespace hocket::bench::idle {
namespace {

constexpr int kTasks = 2000;
constexpr double kTaskNanoseconds = 10000;

/// A chain of operations that no compiler shortens: a linear congruential generator.
std::uint64_t work(std::uint64_t steps, std::uint64_t x) noexcept {
  for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
  return x;
}

/// Steps that take 10 us here and now: the same work for everyone, whoever is disturbed.
std::uint64_t steps_of_a_task() {
  constexpr std::uint64_t kSteps = 1000000;
  double best = 1e300;
  std::uint64_t sum = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = Clock::now();
    sum += work(kSteps, sum);
    best = std::min(best, nanoseconds_since(begin));
  }
  return static_cast<std::uint64_t>(kTaskNanoseconds * kSteps / best) + (sum & 1U);
}

class OnHocket {
 public:
  OnHocket(unsigned workers, std::uint64_t steps)
      : runtime_(cpu_workers(workers)),
        codelet_("work", cpu([steps](View<std::uint64_t> x) { x[0] = work(steps, x[0]); })) {
    for (int i = 0; i < kTasks; ++i) {
      data_.push_back(runtime_.data<std::uint64_t>({1}));
      runtime_.overwrite(data_.back())[0] = 1;
    }
  }
  double nanoseconds() {
    const auto begin = Clock::now();
    for (const Data<std::uint64_t>& datum : data_) runtime_.submit(codelet_, datum);
    runtime_.wait();
    return nanoseconds_since(begin);
  }

 private:
  Runtime runtime_;
  Codelet<void(View<std::uint64_t>)> codelet_;
  std::vector<Data<std::uint64_t>> data_;
};

double tbb_nanoseconds(tbb::task_arena& arena, std::uint64_t steps, std::vector<std::uint64_t>& values) {
  const auto begin = Clock::now();
  arena.execute([&] {
    tbb::task_group group;
    for (std::uint64_t& value : values) group.run([&value, steps] { value = work(steps, value); });
    group.wait();
  });
  return nanoseconds_since(begin);
}

}  // namespace

void speed_up(const Extent& extent) {
  const std::uint64_t steps = steps_of_a_task();
  OnHocket one(1, steps);
  OnHocket two(2, steps);
  tbb::task_arena arena_of_one(1);
  tbb::task_arena arena_of_two(2);
  std::vector<std::uint64_t> values(kTasks, 1);
  for (int round = 0; round <= extent.rounds; ++round) {
    const double hocket_one = one.nanoseconds();
    const double hocket_two = two.nanoseconds();
    const double tbb_one = tbb_nanoseconds(arena_of_one, steps, values);
    const double tbb_two = tbb_nanoseconds(arena_of_two, steps, values);
    if (round == 0) continue;  // starts threads, touches memory
    print_sample("speed_up", "2,000 tasks of 10 us", "hocket", 1, hocket_one / kTasks, "ns");
    print_sample("speed_up", "2,000 tasks of 10 us", "hocket", 2, hocket_two / kTasks, "ns");
    print_sample("speed_up", "2,000 tasks of 10 us, two workers over one", "hocket", 2,
                 hocket_one / hocket_two, "x");
    print_sample("speed_up", "2,000 tasks of 10 us", "tbb::task_group", 1, tbb_one / kTasks, "ns");
    print_sample("speed_up", "2,000 tasks of 10 us", "tbb::task_group", 2, tbb_two / kTasks, "ns");
    print_sample("speed_up", "2,000 tasks of 10 us, two workers over one", "tbb::task_group", 2,
                 tbb_one / tbb_two, "x");
  }
}

}  // namespace hocket::bench::idle
