// SPDX-License-Identifier: Apache-2.0
/// `eft`: each task goes, as soon as it is ready, to the device on which it should finish first: what is queued there
/// already, plus the time to bring its operands, plus its execution. As StarPU's dmda (C. Augonnet et al.,
/// "StarPU: a unified platform for task scheduling on heterogeneous multicore architectures", CCPE 23(2),
/// 2011), and with the list of a device kept in order of priority as its dmdas.
#include "sched/earliest_finish_policy.hpp"

#include <algorithm>
#include <unordered_map>

#include "sched/ready_list.hpp"

namespace hocket::sched {
namespace {

class EarliestFinishPolicy final : public Policy {
 public:
  std::string_view name() const override { return "eft"; }
  void start(const PolicyMachine& machine) override {
    machine_ = machine;
    queues_.resize(machine.devices);
    for (const DeviceId device : machine.device_of_worker) ++queues_[index(device)].workers;
  }

  std::optional<DeviceId> push(const ReadyTask& task, Seconds) override {
    const Candidate* best = nullptr;
    Seconds best_finish;
    for (const Candidate& candidate : task.candidates) {
      const Queue& queue = queues_[index(candidate.device)];
      const Seconds waiting = queue.backlog / std::max(1.0, static_cast<double>(queue.workers));
      // Copies run beside the tasks that are ahead: only what they do not hide delays this one.
      const Seconds finish = std::max(waiting, candidate.transfer) + candidate.execution;
      if (best != nullptr && finish >= best_finish) continue;
      best = &candidate;
      best_finish = finish;
    }
    Queue& queue = queues_[index(best->device)];
    queue.backlog += best->execution;
    queue.ready.push(task.priority, {task.id, std::uint64_t{1} << index(best->device)});
    expected_[task.id] = {best->device, best->execution};
    return best->device;
  }

  std::optional<ReadyTaskId> pop(WorkerId worker, Seconds) override {
    const DeviceId device = machine_.device_of_worker[index(worker)];
    return queues_[index(device)].ready.pop_oldest(device);
  }

  void finished(ReadyTaskId task, WorkerId, Seconds, Seconds) override {
    const auto found = expected_.find(task);
    if (found == expected_.end()) return;
    Seconds& backlog = queues_[index(found->second.device)].backlog;
    backlog = std::max(Seconds{}, backlog - found->second.execution);
    expected_.erase(found);
  }

 private:
  struct Queue {
    std::uint32_t workers = 0;
    Seconds backlog{};  ///< Predicted work that is queued or running.
    ReadyList ready;
  };
  struct Expected {
    DeviceId device{};
    Seconds execution{};
  };

  PolicyMachine machine_;
  std::vector<Queue> queues_;
  std::unordered_map<ReadyTaskId, Expected> expected_;
};

}  // namespace

std::unique_ptr<Policy> make_earliest_finish_policy() { return std::make_unique<EarliestFinishPolicy>(); }

}  // namespace hocket::sched
