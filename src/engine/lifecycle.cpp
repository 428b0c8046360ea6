// SPDX-License-Identifier: Apache-2.0
#include "engine/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "engine/failures.hpp"
#include "graph/datum.hpp"
#include "graph/recorded_graph.hpp"

namespace hocket::engine {

using detail::Datum;
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
                     std::unique_ptr<Policy> policy, trace::Recorder& recorder, ThreadContexts& contexts,
                     Driver& driver)
    : machine_(machine),
      memory_(memory),
      recorder_(recorder),
      contexts_(contexts),
      driver_(driver),
      policy_(std::move(policy)),
      policy_name_(policy_->name()),
      without_room_(machine.nodes().size()) {
  PolicyMachine workers;
  workers.devices = static_cast<std::uint32_t>(machine.devices().size());
  for (const DeviceInfo& device : machine.devices()) {
    first_worker_.push_back(static_cast<std::uint32_t>(workers.device_of_worker.size()));
    const bool threads = device.properties.execution == Execution::CallingThread;
    if (threads && !fast_device_ && device.properties.kind == "cpu" && device.memory_node == kHostNode)
      fast_device_ = device.id;
    workers.device_of_worker.insert(workers.device_of_worker.end(),
                                    threads ? device.properties.concurrency : 1, device.id);
  }
  policy_->start(workers);
  host_.label = "the host";
  host_.memory_node = kHostNode;
  host_.properties.host_memory = true;
}

// ---- ready -----------------------------------------------------------------------------------------------------

void Lifecycle::enter_placed_lane(TaskNode& task) {
  task.requests.fetch_or(TaskNode::kPlaced, std::memory_order_relaxed);
  if (task.kind != TaskKind::Marker) task.extra().ready_at = driver_.now();
  // Sequentially consistent with the check that follows: `cancel` sets its flag first, then looks at the state.
  task.state.store(TaskState::Ready, std::memory_order_seq_cst);
  light_fence();
  const bool is_withdrawn = withdrawn(task);
  if (task.kind == TaskKind::Marker) {
    driver_.marker_ready(task, is_withdrawn);
    return;
  }
  if (is_withdrawn) {
    // An access that the program gave up changes nothing: those behind it go on. A retirement goes on in any case.
    const bool given_up = (task.kind == TaskKind::HostAccess && task.failed_by() == nullptr) ||
                          task.kind == TaskKind::Retirement;
    if (claim(task)) end(task, given_up ? TaskState::Done : TaskState::Cancelled, nullptr);
    return;
  }
  switch (task.kind) {
    case TaskKind::Marker:
      return;
    case TaskKind::Retirement:
      if (claim(task)) end(task, TaskState::Done, nullptr);
      return;
    case TaskKind::HostAccess:
      grant_host_access(task);
      return;
    case TaskKind::Kernel:
      if (task.has(TaskNode::kPlain)) task.materialise_operands();
      push_to_policy(task);
      return;
  }
}

/// The program's own access: as a task on the host that runs until the program lets go. Whoever waits for it sees to
/// the failure of a copy.
void Lifecycle::grant_host_access(TaskNode& task) {
  claim(task);
  bool present = true;
  const Datum& datum = task.operands().front().region->datum();
  if (!datum.host_only.load(std::memory_order_relaxed)) {
    const Format format{datum.element(), Layout::RowMajor};
    present = memory_.acquire(task, host_, {&format, 1}) == memory::Acquisition::Present;
  }
  if (present) driver_.queue_present(task);
}

void Lifecycle::grant(TaskNode& task) {
  const TaskRef reference(&task);  // who waits for it may end it at once
  contexts_.here().deactivated.add(1);
  task.extra().activated = false;
  task.state.store(TaskState::Running, std::memory_order_seq_cst);
  if ((task.requests.load(std::memory_order_seq_cst) & TaskNode::kWaited) != 0) driver_.announce(task);
}

void Lifecycle::push_to_policy(TaskNode& task) {
  detail::TaskExtra& extra = task.extra();
  const std::uint64_t able = eligible(task);
  std::vector<Candidate> candidates;
  for (const DeviceInfo& device : machine_.devices()) {
    if ((able & bit(device.id)) == 0) continue;
    const Estimate expected = estimate(task, device);
    const memory::Manager::Missing missing = memory_.missing(task, device, formats_for(task, device));
    candidates.push_back({device.id, expected.execution, missing.seconds, missing.bytes, expected.measured});
  }
  if (extra.explanation) {
    const std::lock_guard lock(failure_mutex_);
    for (const Candidate& candidate : candidates) {
      const DeviceInfo& device = machine_.devices()[index(candidate.device)];
      extra.explanation->options.push_back({device.id, device.label, true,
                                            candidate.measured ? "measured" : "nominal speeds",
                                            candidate.execution, candidate.transfer, candidate.missing});
    }
  }
  detail::add_reference(&task);  // the policy's; `take` hands it on
  {
    const std::lock_guard lock(policy_mutex_);
    const ReadyTask ready{ready_id(task), extra.priority, candidates, driver_.current_worker()};
    const std::optional<DeviceId> decided = policy_->push(ready, driver_.now());
    extra.in_policy = true;
    if (extra.priority > 0) count_urgent(task, true);
    held_by_policy_.fetch_add(1, std::memory_order_seq_cst);  // pairs with a worker about to sleep
    if (decided) {  // under the lock: nobody can take the task away meanwhile
      const DeviceInfo& device = machine_.devices()[index(*decided)];
      memory_.prefetch(task, device, formats_for(task, device));
    }
  }
  driver_.wake(able);
}

WorkerId Lifecycle::worker_of(const TaskNode& task) const noexcept {
  const detail::TaskExtra& extra = *task.extra_or_null();
  return WorkerId{first_worker_[index(extra.device)] + extra.worker};
}

TaskRef Lifecycle::take(DeviceId device, std::uint32_t worker_in_device) {
  if (held_by_policy_.load(std::memory_order_seq_cst) == 0) return {};
  const WorkerId worker{first_worker_[index(device)] + worker_in_device};
  std::vector<TaskRef> dropped;  // which may be the last references: released without the lock
  const std::lock_guard lock(policy_mutex_);
  while (const std::optional<ReadyTaskId> id = policy_->pop(worker, driver_.now())) {
    held_by_policy_.fetch_sub(1, std::memory_order_relaxed);
    TaskNode& task = node_of(*id);
    TaskRef reference(&task);
    detail::release_reference(&task);  // the policy's
    detail::TaskExtra& extra = task.extra();
    extra.in_policy = false;
    if (extra.priority > 0) count_urgent(task, false);
    if (claim(task)) {
      extra.by_policy = true;
      extra.device = device;
      extra.worker = worker_in_device;
      return reference;
    }
    policy_->finished(*id, worker, Seconds{}, driver_.now());
    dropped.push_back(std::move(reference));
  }
  return {};
}

bool Lifecycle::take_out_of_turn(TaskNode& task, DeviceId device, std::uint32_t worker_in_device) {
  const std::lock_guard lock(policy_mutex_);
  // The policy keeps its entry: `take` finds it claimed and drops it.
  detail::TaskExtra* const extra = task.extra_or_null();
  if (extra == nullptr || !extra->in_policy || (eligible(task) & bit(device)) == 0 || !claim(task))
    return false;
  extra->device = device;
  extra->worker = worker_in_device;
  return true;
}

/// Keeps `urgent_` while the policy holds a task.
void Lifecycle::count_urgent(const TaskNode& task, bool more) noexcept {
  for (const DeviceInfo& device : machine_.devices()) {
    if ((eligible(task) & bit(device.id)) == 0) continue;
    if (more)
      urgent_[index(device.id)].fetch_add(1, std::memory_order_relaxed);
    else
      urgent_[index(device.id)].fetch_sub(1, std::memory_order_relaxed);
  }
}

bool Lifecycle::claim(TaskNode& task) noexcept {
  return !task.extra().claimed.exchange(true, std::memory_order_acq_rel);
}

bool Lifecycle::refuse(TaskNode& task, bool begins) {
  if (begins) {
    bool over =
        task.failed_by() != nullptr || index(task.id) <= cancelled_up_to.load(std::memory_order_relaxed);
    over = task.extra().decided.exchange(true, std::memory_order_acq_rel) || over;
    if (!over) return false;
  } else if (!withdrawn(task)) {
    return false;
  }
  end(task, TaskState::Cancelled, nullptr);
  return true;
}

// ---- placed, operands present ----------------------------------------------------------------------------------

/// While it lives, tasks that end on this thread are only noted; then they are over. With a task go its captures: code of
/// the user, which must not run under a lock of the engine.
class Lifecycle::LateClosing {
 public:
  explicit LateClosing(Lifecycle& lifecycle)
      : lifecycle_(lifecycle),
        here_(lifecycle.contexts_.here()),
        outer_(std::exchange(here_.closing, true)) {}
  LateClosing(const LateClosing&) = delete;
  LateClosing& operator=(const LateClosing&) = delete;
  ~LateClosing() {
    if (!outer_) lifecycle_.close_all(here_, nullptr);
  }

 private:
  Lifecycle& lifecycle_;
  ThreadContext& here_;
  const bool outer_;
};

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
  task.extra().device = id;
  // The host always has room, or fails.
  if (device.memory_node == kHostNode) return acquire(task, device).value_or(Placing::Over);
  const LateClosing late(*this);  // before the lock, so that it ends after it
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
  const LateClosing late(*this);
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
    const std::optional<Placing> placing = acquire(task, machine_.devices()[index(task.extra().device)]);
    if (!placing) break;
    if (*placing == Placing::Present) driver_.queue_present(task);
    if (*placing == Placing::Over) ++over;
  }
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(tried));
  return over;
}

bool Lifecycle::fail_without_operands(TaskNode& task) {
  std::exception_ptr& failure = task.extra().transfer_failure;
  if (!failure) return false;
  end(task, TaskState::Failed, describe_failure(task, std::exchange(failure, nullptr)));
  return true;
}

// ---- running -----------------------------------------------------------------------------------------------------

void Lifecycle::running(TaskNode& task, std::uint32_t worker) {
  task.extra().worker = worker;
  task.state.store(TaskState::Running, std::memory_order_release);
}

std::vector<Argument> Lifecycle::arguments(TaskNode& task) {
  std::vector<Argument> result(task.type->parameter_count);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].parameter = task.type->parameters[i];
    if (!result[i].parameter.is_data) result[i].scalar = task.storage() + task.type->scalar_offsets[i];
  }
  for (const Operand& operand : task.operands()) {
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
      buffer.memory = datum.home() + offset * datum.element().bytes;
      buffer.strides = datum.home_strides();
      buffer.format = {datum.element(), Layout::RowMajor};
    } else {
      buffer.memory = replica->memory;
      buffer.strides = replica->strides;
      buffer.format = replica->format;
    }
  }
  return result;
}

// ---- over, successors released -------------------------------------------------------------------------------------

TaskNode* Lifecycle::finished(TaskNode& task, const Outcome& outcome, std::uint32_t worker,
                              bool may_continue) {
  ThreadContext& here = contexts_.here();
  detail::TaskExtra& extra = task.extra();
  const bool placed = task.asked(TaskNode::kPlaced);
  const Seconds elapsed = outcome.ended - outcome.began;
  const Seconds execution = outcome.busy.value_or(elapsed);
  const bool failed = outcome.failure != nullptr;
  const DeviceId device = device_of(task);
  if (!failed && placed) history_.observe({key_of(task), device, footprint(task)}, execution);
  const std::string name = task.display_name();
  const std::string& codelet = task.prepared() != nullptr ? task.prepared()->name : name;
  recorder_.task({task.id, &name, &codelet, device, worker, extra.ready_at, outcome.began, outcome.ended,
                  outcome.modelled, work_of(task).flops, failed});
  if (extra.by_policy) {
    const std::lock_guard lock(policy_mutex_);
    policy_->finished(ready_id(task), worker_of(task), execution, driver_.now());
  }
  if (extra.explanation) {
    const std::lock_guard lock(failure_mutex_);
    extra.explanation->device = device;
    extra.explanation->decided_by = placed ? policy_name_ : "fast lane";
    extra.explanation->actual_execution = execution;
  }
  TaskNode* continuation = nullptr;
  close(here,
        {&task, failed ? TaskState::Failed : TaskState::Done,
         failed ? describe_failure(task, outcome.failure) : nullptr},
        may_continue ? &continuation : nullptr);
  return continuation;
}

void Lifecycle::end(TaskNode& task, TaskState state, std::exception_ptr error) {
  if (const detail::TaskExtra* const extra = task.extra_or_null(); extra != nullptr && extra->by_policy) {
    const std::lock_guard lock(policy_mutex_);
    policy_->finished(ready_id(task), worker_of(task), Seconds{}, driver_.now());
  }
  close(contexts_.here(), {&task, state, std::move(error)}, nullptr);
}

/// Ends tasks one after the other rather than one within the other: a failure may cancel a chain of any length.
void Lifecycle::close(ThreadContext& here, Closing&& closing, TaskNode** continuation) {
  here.closings.push_back(std::move(closing));
  if (here.closing) return;
  here.closing = true;
  close_all(here, continuation);
}

void Lifecycle::close_all(ThreadContext& here, TaskNode** continuation) {
  while (!here.closings.empty()) {
    Closing next = std::move(here.closings.back());
    here.closings.pop_back();
    close_one(here, std::move(next), continuation);
  }
  here.closing = false;
}

void Lifecycle::close_one(ThreadContext& here, Closing&& closing, TaskNode** continuation) {
  TaskNode& task = *closing.task;
  const bool failed = closing.state != TaskState::Done;
  detail::TaskExtra* const extra = task.extra_or_null();
  if (extra != nullptr && !extra->operands.empty() && extra->operands.front().bound != nullptr)
    memory_.release(task);
  if (closing.state == TaskState::Failed) {
    TaskNode* culprit = keep_failure(task, task.graph_run(), std::move(closing.error));
    if (culprit != &task) {
      task.extra().failed_by.store(culprit, std::memory_order_release);
      task.requests.fetch_or(TaskNode::kFailed, std::memory_order_release);
    }
  } else if (closing.state == TaskState::Cancelled && task.kind == TaskKind::Kernel) {
    recorder_.cancelled();
  }
  task.state.store(closing.state, std::memory_order_seq_cst);

  // The nodes of a recorded graph are used again, so the run's end stands for one that was withdrawn.
  GraphRun* const run = task.graph_run();
  TaskNode& blamed = run != nullptr && task.failed_by() == nullptr ? *run->end : task;
  // A run is one step of the program: what it was to make is spoilt as a whole where any of it did not run.
  if (failed && run != nullptr && &task != run->end.get()) detail::mark_failed_by(*run->end, blamed);
  if (task.has(TaskNode::kHasCaptures)) continuation = nullptr;
  const auto release = [&](TaskNode& successor, bool value) {
    if (failed && value) detail::mark_failed_by(successor, blamed);
    if (release_one(successor)) become_ready(here, successor, continuation);
  };
  if (extra != nullptr) {
    const detail::StaticSuccessors fixed = extra->static_successors;
    for (const std::uint32_t* edge = fixed.begin; edge != fixed.end; ++edge) {
      const bool to_end = *edge == detail::kEndOfRun;
      release(to_end ? *run->end : *fixed.nodes[*edge & ~detail::kValueEdge],
              (*edge & detail::kValueEdge) != 0);
    }
  }
  std::uintptr_t edge = task.successors.exchange(detail::kClosed, std::memory_order_seq_cst);
  while (edge != 0) {
    const std::uintptr_t next = detail::edge_word(edge);
    const bool value = (edge & detail::kValueBit) != 0;
    release(detail::edge_head(edge), value);
    edge = next;
  }
  after_close(here, task);
}

/// What is left to do once nobody can be made to wait for the task any more; ends the engine's hold on it.
void Lifecycle::after_close(ThreadContext& here, TaskNode& task) {
  if (TaskNode* const parent = task.parent(); parent != nullptr) {
    // A task that failed keeps it, since who waits for what it has submitted asks whose failure that is. Others let it
    // go: tasks that each submit the next one do not all stay.
    const bool keeps = task.state.load(std::memory_order_relaxed) == TaskState::Failed;
    if (keeps) detail::add_reference(parent);
    task.parent_let_go = !keeps;
    parent->pending.fetch_sub(1, std::memory_order_seq_cst);
    if ((parent->requests.load(std::memory_order_seq_cst) & TaskNode::kWaited) != 0)
      driver_.announce(*parent);
    detail::release_reference(parent);
  }
  const bool waited = (task.requests.load(std::memory_order_seq_cst) & TaskNode::kWaited) != 0;
  const bool recorded = task.has(TaskNode::kRunNode);
  const bool host_access = task.kind == TaskKind::HostAccess;
  if (!host_access || task.extra().activated) here.deactivated.add(1);
  Datum* const retired = task.kind == TaskKind::Retirement ? task.extra().retired : nullptr;
  GraphRun* const run = task.graph_run();
  const bool ends_run = task.has(TaskNode::kEndsRun);
  if (task.has(TaskNode::kHasCaptures)) {
    // They may hold the last handle of some data, and wait: for tasks that this thread then runs and ends.
    const bool outer = std::exchange(here.closing, false);
    destroy_captures(task);
    here.closing = outer;
  }
  if (waited) driver_.announce(task);
  if (retired != nullptr) retired->destroy();
  if (!host_access && !recorded) {
    here.finished.add(1);
    if (here.slot == nullptr) driver_.announce_if_idle();
  }
  detail::release_reference(&task);  // the engine's
  if (ends_run) detail::RecordedGraph::leave(*run);
}

void Lifecycle::destroy_captures(TaskNode& task) noexcept {
  if (task.type->one_off) {
    if (task.type->destroy != nullptr) task.type->destroy(task.storage());
    return;
  }
  for (const auto& variant : task.core().variants) static_cast<const detail::CpuVariant&>(*variant).forget();
}

/// Notes a failure for those who wait. The nodes of a recorded graph are used again, so a node of its own takes the
/// blame for one of them; returns who did.
TaskNode* Lifecycle::keep_failure(TaskNode& task, GraphRun* run, std::exception_ptr error) {
  TaskNode* culprit = &task;
  if (run != nullptr) {
    culprit = TaskNode::make(contexts_.here().blocks);  // its one reference is that of `failed_by`
    culprit->id = task.id;
    culprit->copy_place(task);
    detail::TaskExtra& extra = culprit->extra();
    extra.name = task.display_name();
    extra.device = device_of(task);
    extra.parent = run->end->parent();
    detail::add_reference(extra.parent);
    culprit->successors.store(detail::kClosed, std::memory_order_relaxed);
    culprit->state.store(TaskState::Failed, std::memory_order_relaxed);
  }
  std::vector<TaskRef> dropped;  // released without the lock
  {
    const std::lock_guard lock(failure_mutex_);
    culprit->extra().error = std::move(error);
    // Those that have been reported need not be kept for who waits for all: dropped before the list would grow.
    if (failures_.size() == failures_.capacity()) {
      const auto reported = [](const TaskRef& failure) {
        return failure->extra().reported.load(std::memory_order_relaxed);
      };
      const auto first = std::partition(failures_.begin(), failures_.end(), std::not_fn(reported));
      dropped.assign(std::make_move_iterator(first), std::make_move_iterator(failures_.end()));
      failures_.erase(first, failures_.end());
    }
    failures_.emplace_back(culprit);
  }
  return culprit;
}

void Lifecycle::light_failed(GraphRun& run, TaskNode& recorded, const std::exception_ptr& cause,
                             std::uint32_t worker) {
  TaskNode* const culprit = keep_failure(recorded, &run, describe_failure(recorded, cause));
  detail::mark_failed_by(*run.end, *culprit);
  detail::release_reference(culprit);
  const std::string name = recorded.display_name();
  const Seconds time = driver_.now();
  recorder_.task({run.id, &name, &name, *fast_device_, worker, time, time, time, std::nullopt, 0.0, true});
}

void Lifecycle::light_cancelled(GraphRun& run) {
  recorder_.cancelled();
  if (run.end->failed_by() == nullptr)
    run.end->requests.fetch_or(TaskNode::kCancel, std::memory_order_release);
}

void Lifecycle::light_run_over(GraphRun& run) {
  TaskNode& end = *run.end;
  if (release_one(end)) ready(contexts_.here(), end);
}

void Lifecycle::retire_stand_in(TaskNode& node) {
  node.state.store(TaskState::Done, std::memory_order_release);
  node.successors.exchange(detail::kClosed, std::memory_order_seq_cst);
  detail::release_reference(&node);
}

std::vector<TaskRef> Lifecycle::take_failures(const TaskNode* parent) {
  const std::lock_guard lock(failure_mutex_);
  std::vector<TaskRef> unreported;
  std::erase_if(failures_, [&](const TaskRef& task) {
    if (parent != nullptr && task->parent() != parent) return false;
    if (!task->extra().reported.exchange(true, std::memory_order_relaxed)) unreported.push_back(task);
    return true;
  });
  return unreported;
}

bool Lifecycle::cancel(TaskNode& task) {
  task.requests.fetch_or(TaskNode::kCancel, std::memory_order_seq_cst);
  heavy_fence();  // pairs with the light ones in `become_ready` and `begin_fast`
  const TaskState state = task.state.load(std::memory_order_seq_cst);
  // Whoever was to run it has seen the request already.
  if (state == TaskState::Cancelled) return task.failed_by() == nullptr;
  if (task.asked(TaskNode::kPlaced)) return cancel_placed(task, state);
  if (state != TaskState::Waiting && state != TaskState::Ready) return false;
  const bool begun = task.begun.load(std::memory_order_relaxed) != 0;
  const std::uint8_t mine = begun                       ? TaskNode::kTooLate
                            : state == TaskState::Ready ? TaskNode::kTakenOutOfQueue
                                                        : TaskNode::kLeftToOwner;
  detail::add_reference(&task);  // for the entry that stays in a queue
  std::uint8_t verdict = TaskNode::kOpen;
  const bool decides = task.verdict.compare_exchange_strong(verdict, mine, std::memory_order_acq_rel);
  if (decides && mine == TaskNode::kTakenOutOfQueue) {
    end(task, TaskState::Cancelled, nullptr);
    return true;
  }
  detail::release_reference(&task);
  if (decides) return mine == TaskNode::kLeftToOwner;
  return verdict == TaskNode::kCancelledByOwner || verdict == TaskNode::kLeftToOwner;
}

bool Lifecycle::cancel_placed(TaskNode& task, TaskState state) {
  detail::TaskExtra& extra = task.extra();
  if (state == TaskState::Waiting) return true;  // whoever makes it ready will see the flag
  if (state != TaskState::Ready) return false;
  if (extra.decided.exchange(true, std::memory_order_acq_rel)) return false;
  {
    // The thread that pushes it to the policy may be looking at the operands: then whoever takes it sees the flag.
    const std::lock_guard lock(policy_mutex_);
    if (!extra.in_policy || !claim(task)) return true;
  }
  end(task, TaskState::Cancelled, nullptr);
  return true;
}

std::exception_ptr Lifecycle::describe_failure(TaskNode& task, const std::exception_ptr& cause) const {
  const std::string device =
      machine_.devices().empty() ? std::string() : machine_.devices()[index(device_of(task))].label;
  return make_task_error(task, TaskFailure::Failed, device, cause);
}

}  // namespace hocket::engine
