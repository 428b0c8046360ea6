// SPDX-License-Identifier: Apache-2.0
#include "engine/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/failures.hpp"
#include "graph/datum.hpp"
#include "graph/recorded_graph.hpp"

namespace hocket::engine {

using detail::Datum;
using detail::Edge;
using detail::GraphRun;
using detail::Operand;
using detail::TaskKind;
using detail::TaskNode;
using detail::TaskRef;

namespace {

ReadyTaskId ready_id(TaskNode& task) noexcept { return ReadyTaskId{reinterpret_cast<std::uintptr_t>(&task)}; }
TaskNode& node_of(ReadyTaskId id) noexcept {
  return *reinterpret_cast<TaskNode*>(static_cast<std::uintptr_t>(id));  // NOLINT(performance-no-int-to-ptr)
}
std::uint64_t bit(DeviceId device) noexcept { return std::uint64_t{1} << index(device); }

}  // namespace

Lifecycle::Lifecycle(const platform::Machine& machine, memory::Manager& memory,
                     std::unique_ptr<Policy> policy, trace::Recorder& recorder, Driver& driver)
    : machine_(machine),
      memory_(memory),
      recorder_(recorder),
      driver_(driver),
      policy_(std::move(policy)),
      policy_name_(policy_->name()),
      without_room_(machine.nodes().size()) {
  PolicyMachine workers;
  workers.devices = static_cast<std::uint32_t>(machine.devices().size());
  for (const DeviceInfo& device : machine.devices()) {
    first_worker_.push_back(static_cast<std::uint32_t>(workers.device_of_worker.size()));
    const bool threads = device.properties.execution == Execution::CallingThread;
    workers.device_of_worker.insert(workers.device_of_worker.end(),
                                    threads ? device.properties.concurrency : 1, device.id);
  }
  policy_->start(workers);
  host_.label = "the host";
  host_.memory_node = kHostNode;
  host_.properties.host_memory = true;
}

// ---- submitted, ready ----------------------------------------------------------------------------------------

void Lifecycle::submitted(TaskNode& task) {
  // Acquire-release: what the predecessors did is seen by whoever runs the task.
  if (task.pending.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Closings closings;
  become_ready(task, closings, nullptr);
  close_all(closings, nullptr);
}

bool Lifecycle::withdrawn(const TaskNode& task) const noexcept {
  return task.failed_by.load(std::memory_order_acquire) != nullptr ||
         task.cancel_requested.load(std::memory_order_seq_cst) ||
         (task.kind == TaskKind::Kernel && index(task.id) <= cancelled_up_to.load(std::memory_order_relaxed));
}

/// Nothing is to be decided or moved: only CPU workers can run it, and its data has never left the host.
bool Lifecycle::takes_fast_lane(const TaskNode& task) noexcept {
  if (!task.plain || task.priority != 0) return false;
  return std::all_of(task.operands.begin(), task.operands.end(), [](const Operand& operand) {
    return operand.region->datum().host_only.load(std::memory_order_relaxed);
  });
}

void Lifecycle::become_ready(TaskNode& task, Closings& closings, TaskRef* continuation) {
  active.fetch_add(1, std::memory_order_relaxed);
  task.ready_at = driver_.now();
  task.fast = task.kind == TaskKind::Kernel && takes_fast_lane(task);
  // Sequentially consistent with the check that follows: `cancel` sets its flag first, then looks at the state.
  task.state.store(TaskState::Ready, std::memory_order_seq_cst);
  if (withdrawn(task)) {
    // An access that the program gave up changes nothing: those behind it go on.
    const bool given_up =
        task.kind == TaskKind::HostAccess && task.failed_by.load(std::memory_order_relaxed) == nullptr;
    if (claim(task))
      closings.push_back({TaskRef(&task), given_up ? TaskState::Done : TaskState::Cancelled, nullptr});
    return;
  }
  switch (task.kind) {
    case TaskKind::Marker:
      if (claim(task)) closings.push_back({TaskRef(&task), TaskState::Done, nullptr});
      return;
    case TaskKind::HostAccess:
      grant_host_access(task);
      return;
    case TaskKind::Kernel:
      if (!task.fast) {
        push_to_policy(task);
      } else if (continuation != nullptr && !*continuation && !holds_urgent(task.device) && claim(task)) {
        *continuation = TaskRef(&task);
      } else {
        driver_.queue_fast(task);
      }
      return;
  }
}

/// The program's own access: as a task on the host that runs until the program lets go. Whoever waits for it sees to
/// the failure of a copy.
void Lifecycle::grant_host_access(TaskNode& task) {
  claim(task);
  bool present = true;
  if (!task.operands.front().region->datum().host_only.load(std::memory_order_relaxed)) {
    const Format format{task.operands.front().region->datum().description().element, Layout::RowMajor};
    present = memory_.acquire(task, host_, {&format, 1}) == memory::Acquisition::Present;
  }
  if (present) driver_.queue_present(task);
}

void Lifecycle::grant(TaskNode& task) {
  task.state.store(TaskState::Running, std::memory_order_seq_cst);
  active.fetch_sub(1, std::memory_order_relaxed);
  driver_.announce(task);
}

void Lifecycle::push_to_policy(TaskNode& task) {
  std::vector<Candidate> candidates;
  for (const DeviceInfo& device : machine_.devices()) {
    if ((task.eligible & bit(device.id)) == 0) continue;
    const Estimate expected = estimate(task, device);
    const memory::Manager::Missing missing = memory_.missing(task, device, formats_for(task, device));
    candidates.push_back({device.id, expected.execution, missing.seconds, missing.bytes, expected.measured});
  }
  if (task.details && task.details->explanation) {
    const std::lock_guard lock(failure_mutex_);
    for (const Candidate& candidate : candidates) {
      const DeviceInfo& device = machine_.devices()[index(candidate.device)];
      task.details->explanation->options.push_back(
          {device.id, device.label, true, candidate.measured ? "measured" : "nominal speeds",
           candidate.execution, candidate.transfer, candidate.missing});
    }
  }
  detail::add_reference(&task);  // the policy's; `take` hands it on
  const std::uint64_t eligible = task.eligible;
  {
    const std::lock_guard lock(policy_mutex_);
    const ReadyTask ready{ready_id(task), task.priority, candidates, driver_.current_worker()};
    const std::optional<DeviceId> decided = policy_->push(ready, driver_.now());
    task.in_policy = true;
    if (task.priority > 0) count_urgent(task, true);
    held_by_policy_.fetch_add(1, std::memory_order_seq_cst);  // pairs with a worker about to sleep
    if (decided) {  // under the lock: nobody can take the task away meanwhile
      const DeviceInfo& device = machine_.devices()[index(*decided)];
      memory_.prefetch(task, device, formats_for(task, device));
    }
  }
  driver_.wake(eligible);
}

WorkerId Lifecycle::worker_of(const TaskNode& task) const noexcept {
  return WorkerId{first_worker_[index(task.device)] + task.worker};
}

TaskRef Lifecycle::take(DeviceId device, std::uint32_t worker_in_device) {
  if (held_by_policy_.load(std::memory_order_seq_cst) == 0) return {};
  const WorkerId worker{first_worker_[index(device)] + worker_in_device};
  const std::lock_guard lock(policy_mutex_);
  while (const std::optional<ReadyTaskId> id = policy_->pop(worker, driver_.now())) {
    held_by_policy_.fetch_sub(1, std::memory_order_relaxed);
    TaskNode& task = node_of(*id);
    TaskRef reference(&task);
    detail::release_reference(&task);  // the policy's
    task.in_policy = false;
    if (task.priority > 0) count_urgent(task, false);
    if (claim(task)) {
      task.by_policy = true;
      task.device = device;
      task.worker = worker_in_device;
      return reference;
    }
    policy_->finished(*id, worker, Seconds{}, driver_.now());
  }
  return {};
}

bool Lifecycle::take_out_of_turn(TaskNode& task, DeviceId device, std::uint32_t worker_in_device) {
  const std::lock_guard lock(policy_mutex_);
  // The policy keeps its entry: `take` finds it claimed and drops it.
  if (!task.in_policy || (task.eligible & bit(device)) == 0 || !claim(task)) return false;
  task.device = device;
  task.worker = worker_in_device;
  return true;
}

/// Keeps `urgent_` while the policy holds a task.
void Lifecycle::count_urgent(const TaskNode& task, bool more) noexcept {
  for (const DeviceInfo& device : machine_.devices()) {
    if ((task.eligible & bit(device.id)) == 0) continue;
    if (more)
      urgent_[index(device.id)].fetch_add(1, std::memory_order_relaxed);
    else
      urgent_[index(device.id)].fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Lifecycle::claim(TaskNode& task) noexcept {
  return !task.claimed.exchange(true, std::memory_order_acq_rel);
}

bool Lifecycle::refuse(TaskNode& task, bool begins) {
  if (begins) {
    bool over = task.failed_by.load(std::memory_order_acquire) != nullptr ||
                index(task.id) <= cancelled_up_to.load(std::memory_order_relaxed);
    // In the fast lane whoever claimed it has decided; `cancel` may have come too late, and said so.
    if (!task.fast) over = task.decided.exchange(true, std::memory_order_acq_rel) || over;
    if (!over) return false;
  } else if (!withdrawn(task)) {
    return false;
  }
  end(task, TaskState::Cancelled, nullptr);
  return true;
}

// ---- placed, operands present ----------------------------------------------------------------------------------

/// One attempt to bind the operands; nothing where the task found no room.
std::optional<Placing> Lifecycle::acquire(TaskNode& task, const DeviceInfo& device) {
  try {
    switch (memory_.acquire(task, device, formats_for(task, device))) {
      case memory::Acquisition::Present:
        return Placing::Present;
      case memory::Acquisition::Loading:
        return Placing::Waiting;
      case memory::Acquisition::NoRoom:
        return std::nullopt;
    }
  } catch (...) {
    end(task, TaskState::Failed, describe_failure(task, std::current_exception()));
  }
  return Placing::Over;
}

Placing Lifecycle::place(TaskNode& task, DeviceId id) {
  const DeviceInfo& device = machine_.devices()[index(id)];
  task.device = id;
  if (task.fast) return Placing::Present;
  // The host always has room, or fails.
  if (device.memory_node == kHostNode) return acquire(task, device).value_or(Placing::Over);
  // The lock spans the attempt and the entry in the list: `retry_without_room` cannot come between.
  const std::unique_lock lock(room_mutex_);
  std::vector<TaskRef>& waiting = without_room_[index(device.memory_node)];
  // First come, first served: a small task must not take for ever the room that a large one waits for.
  if (waiting.empty())
    if (const std::optional<Placing> placing = acquire(task, device)) return *placing;
  waiting.emplace_back(&task);
  return Placing::Waiting;
}

std::uint32_t Lifecycle::retry_without_room(MemoryNodeId node) {
  const std::unique_lock lock(room_mutex_);
  std::vector<TaskRef>& waiting = without_room_[index(node)];
  std::size_t tried = 0;
  std::uint32_t over = 0;
  for (; tried < waiting.size(); ++tried) {
    TaskNode& task = *waiting[tried];
    if (refuse(task)) {
      ++over;
      continue;
    }
    const std::optional<Placing> placing = acquire(task, machine_.devices()[index(task.device)]);
    if (!placing) break;
    if (*placing == Placing::Present) driver_.queue_present(task);
    if (*placing == Placing::Over) ++over;
  }
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(tried));
  return over;
}

bool Lifecycle::fail_without_operands(TaskNode& task) {
  if (!task.transfer_failure) return false;
  end(task, TaskState::Failed, describe_failure(task, std::exchange(task.transfer_failure, nullptr)));
  return true;
}

// ---- running -----------------------------------------------------------------------------------------------------

void Lifecycle::running(TaskNode& task, std::uint32_t worker, Seconds now) {
  task.worker = worker;
  task.began_at = now;
  task.state.store(TaskState::Running, std::memory_order_release);
}

std::vector<Argument> Lifecycle::arguments(const TaskNode& task) {
  const std::vector<Parameter>& parameters = task.codelet->parameters;
  std::vector<Argument> result(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    result[i].parameter = parameters[i];
    if (!parameters[i].is_data) result[i].scalar = task.scalars.get() + task.scalar_offsets[i];
  }
  for (const Operand& operand : task.operands) {
    Buffer& buffer = result[operand.parameter].buffer;
    const Datum& datum = operand.region->datum();
    const Box& box = operand.region->box();
    buffer.shape = box.shape;
    // In the fast lane nothing is bound: the data lies at home.
    const memory::Replica* replica = operand.bound;
    const bool at_home = replica == nullptr || replica->number == 0;
    if (at_home) {
      std::size_t offset = 0;
      for (std::size_t d = 0; d < kMaxRank; ++d) offset += box.offset[d] * datum.home_strides()[d];
      buffer.memory = datum.home() + offset * datum.description().element.bytes;
      buffer.strides = datum.home_strides();
      buffer.format = {datum.description().element, Layout::RowMajor};
    } else {
      buffer.memory = replica->memory;
      buffer.strides = replica->strides;
      buffer.format = replica->format;
    }
  }
  return result;
}

// ---- over, successors released -------------------------------------------------------------------------------------

TaskRef Lifecycle::finished(TaskNode& task, const Outcome& outcome, bool may_continue) {
  const Seconds elapsed = outcome.ended - outcome.began;
  const Seconds execution = outcome.busy.value_or(elapsed);
  const bool failed = outcome.failure != nullptr;
  if (!failed && !task.fast) history_.observe({task.codelet->key, task.device, footprint(task)}, execution);
  recorder_.task({task.id, &task.display_name(), &task.codelet->name, task.device, task.worker, task.ready_at,
                  outcome.began, outcome.ended, outcome.modelled,
                  task.codelet->work ? work_of(task).flops : 0.0, failed});
  if (task.by_policy) {
    const std::lock_guard lock(policy_mutex_);
    policy_->finished(ready_id(task), worker_of(task), execution, driver_.now());
  }
  if (task.details && task.details->explanation) {
    const std::lock_guard lock(failure_mutex_);
    Explanation& explanation = *task.details->explanation;
    explanation.device = task.device;
    explanation.decided_by = task.fast ? "fast lane" : policy_name_;
    explanation.actual_execution = execution;
  }
  TaskRef continuation;
  Closings closings;
  closings.push_back({TaskRef(&task), failed ? TaskState::Failed : TaskState::Done,
                      failed ? describe_failure(task, outcome.failure) : nullptr});
  // Where captures go with the task, their destructors may wait: no successor may depend on this thread.
  const bool one_off = task.codelet->one_off && task.graph_run == nullptr;
  close_all(closings, may_continue && !one_off ? &continuation : nullptr);
  return continuation;
}

void Lifecycle::end(TaskNode& task, TaskState state, std::exception_ptr error) {
  if (task.by_policy) {
    const std::lock_guard lock(policy_mutex_);
    policy_->finished(ready_id(task), worker_of(task), Seconds{}, driver_.now());
  }
  Closings closings;
  closings.push_back({TaskRef(&task), state, std::move(error)});
  close_all(closings, nullptr);
}

void Lifecycle::close_all(Closings& closings, TaskRef* continuation) {
  std::vector<std::shared_ptr<const detail::CodeletCore>> over;
  while (!closings.empty()) {
    Closing closing = std::move(closings.back());
    closings.pop_back();
    const TaskRef task = closing.task;
    close(std::move(closing), closings, continuation);
    if (task->codelet && task->codelet->one_off && task->graph_run == nullptr) over.push_back(task->codelet);
  }
  // The records of last accesses keep the nodes; what the kernels captured must not stay with them: it may be a handle
  // to the very data.
  for (const auto& codelet : over)
    for (const auto& variant : codelet->variants) static_cast<const detail::CpuVariant&>(*variant).forget();
}

void Lifecycle::close(Closing&& closing, Closings& closings, TaskRef* continuation) {
  TaskNode& task = *closing.task;
  const bool failed = closing.state != TaskState::Done;
  if (!task.operands.empty() && task.operands.front().bound != nullptr) memory_.release(task);
  if (closing.state == TaskState::Failed) {
    TaskNode* culprit = keep_failure(task, std::move(closing.error));
    if (culprit != &task) task.failed_by.store(culprit, std::memory_order_release);
  } else if (closing.state == TaskState::Cancelled && task.kind == TaskKind::Kernel) {
    recorder_.cancelled();
  }
  const TaskState before = task.state.exchange(closing.state, std::memory_order_seq_cst);

  // The nodes of a recorded graph are used again, so the run's end stands for one that was withdrawn.
  GraphRun* const run = task.graph_run;
  TaskNode& blamed =
      run != nullptr && task.failed_by.load(std::memory_order_relaxed) == nullptr ? *run->end : task;
  // A run is one step of the program: what it was to make is spoilt as a whole where any of it did not run.
  if (failed && run != nullptr && &task != run->end.get()) detail::mark_failed_by(*run->end, blamed);
  const auto release_one = [&](TaskNode& successor, bool value) {
    if (failed && value) detail::mark_failed_by(successor, blamed);
    if (successor.pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      become_ready(successor, closings, continuation);
  };
  const detail::StaticSuccessors fixed = task.static_successors;
  for (const std::uint32_t* edge = fixed.begin; edge != fixed.end; ++edge) {
    const bool to_end = *edge == detail::kEndOfRun;
    release_one(to_end ? *run->end : fixed.nodes[*edge & ~detail::kValueEdge],
                (*edge & detail::kValueEdge) != 0);
  }
  Edge* edge = task.successors.exchange(TaskNode::closed(), std::memory_order_acq_rel);
  while (edge != nullptr) {
    Edge* const next =
        edge->next;  // first: the successor, which owns the edge, may be gone after its release
    release_one(*edge->successor, edge->value);
    edge = next;
  }

  // The records of last accesses keep this node: it must not keep its data in turn. The nodes of a recorded graph
  // stay, and are in no such record.
  std::vector<Operand> operands;
  const bool recorded = run != nullptr && task.kind == TaskKind::Kernel;
  if (!recorded) operands.swap(task.operands);

  const TaskRef parent(task.parent);
  const bool counts = task.kind != TaskKind::HostAccess && !recorded;
  const bool was_active = task.kind != TaskKind::HostAccess || before == TaskState::Ready;
  if (parent) parent->live_children.fetch_sub(1, std::memory_order_seq_cst);
  driver_.announce(task);
  if (parent) driver_.announce(*parent);
  if (was_active) active.fetch_sub(1, std::memory_order_relaxed);
  for (const Operand& operand : operands) operand.region->datum().release();
  const bool last = counts && outstanding.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (last) driver_.announce_idle();
  const bool ends_run = run != nullptr && &task == run->end.get();  // asked while the run must still exist
  detail::release_reference(&task);                                 // the engine's
  if (ends_run) detail::RecordedGraph::leave(*run);
}

/// Notes a failure for those who wait. The nodes of a recorded graph are used again, so a node of its own takes the
/// blame for one of them; returns who did.
TaskNode* Lifecycle::keep_failure(TaskNode& task, std::exception_ptr error) {
  TaskNode* culprit = &task;
  if (task.graph_run != nullptr) {
    culprit = new TaskNode;
    culprit->id = task.id;
    culprit->engine = task.engine;
    culprit->codelet = task.codelet;
    culprit->location = task.location;
    culprit->device = task.device;
    if (task.details) culprit->extra().name = task.details->name;
    culprit->parent = task.graph_run->end->parent;
    detail::add_reference(culprit->parent);
    culprit->successors.store(TaskNode::closed(), std::memory_order_relaxed);
    culprit->state.store(TaskState::Failed, std::memory_order_relaxed);
  }
  {
    const std::lock_guard lock(failure_mutex_);
    culprit->error = std::move(error);
    failures_.emplace_back(culprit);
  }
  return culprit;
}

std::vector<TaskRef> Lifecycle::take_failures(const TaskNode* parent) {
  const std::lock_guard lock(failure_mutex_);
  std::vector<TaskRef> unreported;
  std::erase_if(failures_, [&](const TaskRef& task) {
    if (parent != nullptr && task->parent != parent) return false;
    if (!task->reported.exchange(true, std::memory_order_relaxed)) unreported.push_back(task);
    return true;
  });
  return unreported;
}

bool Lifecycle::cancel(TaskNode& task) {
  task.cancel_requested.store(true, std::memory_order_seq_cst);  // pairs with `become_ready`
  const TaskState state = task.state.load(std::memory_order_seq_cst);
  if (state == TaskState::Waiting) return true;  // it will see the flag
  if (state != TaskState::Ready) return false;
  const bool decided = !task.fast && !task.decided.exchange(true, std::memory_order_acq_rel);
  if (!task.fast && !decided) return false;
  {
    // The thread that pushes it to the policy may be looking at the operands: then whoever takes it sees the flag.
    const std::lock_guard lock(policy_mutex_);
    if (!task.fast && !task.in_policy) return true;
    if (!claim(task)) return decided;
  }
  end(task, TaskState::Cancelled, nullptr);
  return true;
}

std::exception_ptr Lifecycle::describe_failure(TaskNode& task, const std::exception_ptr& cause) const {
  const std::string device =
      machine_.devices().empty() ? std::string() : machine_.devices()[index(task.device)].label;
  return make_task_error(task, TaskFailure::Failed, device, cause);
}

}  // namespace hocket::engine
