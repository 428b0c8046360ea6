// SPDX-License-Identifier: Apache-2.0
/// `ws`: a list for each worker. A task goes to the worker that made it ready, if that one's device can run it, since
/// its data is there; others go round. A worker takes its own newest task, and when it has none steals the
/// oldest of another, nearest number first. After R. D. Blumofe and C. E. Leiserson, "Scheduling multithreaded
/// computations by work stealing", J. ACM 46(5), 1999, section 3.
#include "sched/work_stealing_policy.hpp"

#include "sched/ready_list.hpp"

namespace hocket::sched {
namespace {

class WorkStealingPolicy final : public Policy {
 public:
  std::string_view name() const override { return "ws"; }
  void start(const PolicyMachine& machine) override {
    machine_ = machine;
    lists_.resize(machine.device_of_worker.size());
  }
  std::optional<DeviceId> push(const ReadyTask& task, Seconds) override {
    const std::uint64_t devices = devices_of(task);
    lists_[home_of(task, devices)].push(task.priority, {task.id, devices});
    return std::nullopt;
  }
  std::optional<ReadyTaskId> pop(WorkerId worker, Seconds) override {
    const std::size_t self = index(worker);
    const DeviceId device = machine_.device_of_worker[self];
    if (const auto own = lists_[self].pop_newest(device)) return own;
    for (std::size_t i = 1; i < lists_.size(); ++i)
      if (const auto stolen = lists_[(self + i) % lists_.size()].pop_oldest(device)) return stolen;
    return std::nullopt;
  }

 private:
  std::size_t home_of(const ReadyTask& task, std::uint64_t devices) {
    const auto can_run = [&](std::size_t worker) {
      return (devices >> index(machine_.device_of_worker[worker]) & 1) != 0;
    };
    if (task.released_by && can_run(index(*task.released_by))) return index(*task.released_by);
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      next_ = (next_ + 1) % lists_.size();
      if (can_run(next_)) break;
    }
    return next_;
  }

  PolicyMachine machine_;
  std::vector<ReadyList> lists_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_work_stealing_policy() { return std::make_unique<WorkStealingPolicy>(); }

}  // namespace hocket::sched
