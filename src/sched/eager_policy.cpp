// SPDX-License-Identifier: Apache-2.0
/// `eager`: one list of ready tasks; whoever is free takes the first that its device can run. Needs no estimate, and
/// is blind to speed and to where the data lies.
#include "sched/eager_policy.hpp"

#include "sched/ready_list.hpp"

namespace hocket::sched {
namespace {

class EagerPolicy final : public Policy {
 public:
  std::string_view name() const override { return "eager"; }
  void start(const PolicyMachine& machine) override { machine_ = machine; }
  std::optional<DeviceId> push(const ReadyTask& task, Seconds) override {
    ready_.push(task.priority, {task.id, devices_of(task)});
    return std::nullopt;
  }
  std::optional<ReadyTaskId> pop(WorkerId worker, Seconds) override {
    return ready_.pop_oldest(machine_.device_of_worker[index(worker)]);
  }

 private:
  PolicyMachine machine_;
  ReadyList ready_;
};

}  // namespace

std::unique_ptr<Policy> make_eager_policy() { return std::make_unique<EagerPolicy>(); }

}  // namespace hocket::sched
