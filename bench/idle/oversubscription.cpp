// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "idle/probes.hpp"

namespace hocket::bench::idle {
namespace {

constexpr std::size_t kTasks = 20000;

class World {
 public:
  explicit World(unsigned workers) : workers_(workers), runtime_(cpu_workers(workers)) {
    for (std::size_t i = 0; i < kTasks; ++i) {
      data_.push_back(runtime_.data<int>({1}));
      runtime_.overwrite(data_.back())[0] = 0;
    }
  }
  unsigned workers() const noexcept { return workers_; }

  /// ns per task; the chain is all on one datum.
  double run(bool chain) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kTasks; ++i) runtime_.submit(touch_, data_[chain ? 0 : i]);
    runtime_.wait();
    return nanoseconds_since(begin) / static_cast<double>(kTasks);
  }

 private:
  unsigned workers_;
  Runtime runtime_;
  Codelet<void(View<int>)> touch_{"touch", cpu([](View<int> x) { ++x[0]; })};
  std::vector<Data<int>> data_;
};

}  // namespace

void oversubscription(const Extent& extent) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<World>> worlds;
  for (const unsigned workers : {cores, 4 * cores}) worlds.push_back(std::make_unique<World>(workers));
  for (int round = 0; round <= extent.rounds; ++round)
    for (const auto& world : worlds)
      for (const bool chain : {true, false}) {
        const double nanoseconds = world->run(chain);
        if (round > 0)
          print_sample("oversubscription", chain ? "chain, empty tasks" : "independent, empty tasks",
                       "hocket", world->workers(), nanoseconds, "ns");
      }
}

}  // namespace hocket::bench::idle
