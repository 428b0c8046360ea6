// SPDX-License-Identifier: Apache-2.0
/// The fast lane: tasks that any CPU worker can run on data as it lies at home, from ready to over. Nothing is decided
/// and nothing is moved, so that what a task costs is what is written here.
#include <algorithm>
#include <array>
#include <vector>

#include "engine/cpu_workers.hpp"
#include "engine/lifecycle.hpp"
#include "engine/ticks.hpp"
#include "graph/datum.hpp"

namespace hocket::engine {

using detail::PreparedCodelet;
using detail::TaskKind;
using detail::TaskNode;
using detail::TaskType;

// ---- ready -----------------------------------------------------------------------------------------------------------

void Lifecycle::ready(ThreadContext& here, TaskNode& task) { become_ready(here, task, nullptr); }

bool Lifecycle::withdrawn(const TaskNode& task) const noexcept {
  return (task.requests.load(std::memory_order_seq_cst) & (TaskNode::kCancel | TaskNode::kFailed)) != 0 ||
         (task.kind == TaskKind::Kernel && index(task.id) <= cancelled_up_to.load(std::memory_order_relaxed));
}

/// Nothing is to be decided or moved: only CPU workers can run it, and its data has never left the host.
bool Lifecycle::takes_fast_lane(const TaskNode& task) const noexcept {
  if (!task.has(TaskNode::kPlain) || task.priority() != 0) return false;
  if (memory_.all_at_home()) return true;
  for (std::uint32_t i = 0; i < task.region_count; ++i)
    if (!task.region(i).datum().host_only.load(std::memory_order_relaxed)) return false;
  return true;
}

/// May end the task and those that depend on it; what becomes ready in turn is handled before it returns.
void Lifecycle::become_ready(ThreadContext& here, TaskNode& task, TaskNode** continuation) {
  here.activated.add(1);
  if (!takes_fast_lane(task)) {  // only kernels are plain
    if (task.kind == TaskKind::HostAccess) task.extra().activated = true;
    enter_placed_lane(task);
    return;
  }
  if (!recorder_.lean()) task.extra().ready_at = driver_.now();
  if (continuation != nullptr && *continuation == nullptr && !holds_urgent(*fast_device_)) {
    *continuation = &task;  // `begin_fast` asks whether it was withdrawn
    return;
  }
  queue_ready(here, task);
}

void Lifecycle::queue_ready(ThreadContext& here, TaskNode& task) {
  task.state.store(TaskState::Ready, std::memory_order_release);
  light_fence();  // pairs with the heavy one in `cancel`: either this sees the request, or that sees the state
  if (withdrawn(task) && !settle(task)) return;
  driver_.queue_fast(here, task);
}

/// The slow part of `begin_fast`: somebody has asked for the task, or it must not run.
bool Lifecycle::settle(TaskNode& task) {
  const bool cancels = withdrawn(task);
  std::uint8_t verdict = TaskNode::kOpen;
  const std::uint8_t mine = cancels ? TaskNode::kCancelledByOwner : TaskNode::kRunByOwner;
  if (!task.verdict.compare_exchange_strong(verdict, mine, std::memory_order_acq_rel)) {
    if (verdict == TaskNode::kTakenOutOfQueue) {
      detail::release_reference(&task);  // that of the queue's entry
      return false;
    }
    if (verdict != TaskNode::kLeftToOwner) return true;
  } else if (!cancels) {
    return true;
  }
  end(task, TaskState::Cancelled, nullptr);
  return false;
}

bool Lifecycle::take_out_of_queue(TaskNode& task) {
  const auto queued = [&] {
    return task.state.load(std::memory_order_acquire) == TaskState::Ready && !task.asked(TaskNode::kPlaced) &&
           task.begun.load(std::memory_order_relaxed) == 0;
  };
  if (!queued()) return false;
  task.requests.fetch_or(TaskNode::kClaim, std::memory_order_seq_cst);
  heavy_fence();
  if (!queued()) return false;
  detail::add_reference(&task);  // for the entry that stays in the queue
  std::uint8_t verdict = TaskNode::kOpen;
  if (task.verdict.compare_exchange_strong(verdict, TaskNode::kTakenOutOfQueue, std::memory_order_acq_rel))
    return true;
  detail::release_reference(&task);
  return false;
}

bool Lifecycle::refuse_taken(TaskNode& task) {
  if (!withdrawn(task)) return false;
  end(task, TaskState::Cancelled, nullptr);
  return true;
}

// ---- over ------------------------------------------------------------------------------------------------------------

/// The engine's hold on a task that is over ends.
inline void Lifecycle::let_go(ThreadContext& here, TaskNode& task) noexcept {
  // The only reference: nobody else can make another. Acquire: what the earlier ones did with the node is over.
  if (task.references.load(std::memory_order_acquire) != 1 &&
      task.references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  if (task.flags != TaskNode::kPlain || task.extra_or_null() != nullptr) {
    detail::destroy_node(&task);
    return;
  }
  if (const PreparedCodelet* const codelet = task.prepared())
    count_codelet_users(here.codelet_users.data(), *codelet, -1);
  here.blocks.free(&task);
}

TaskNode* Lifecycle::finished_fast(ThreadContext& here, TaskNode& task) {
  TaskNode* continuation = nullptr;
  if (task.has(TaskNode::kRunNode)) {
    close(here, {&task, TaskState::Done, nullptr}, &continuation);
    return continuation;
  }
  // Where captures go with the task, their destructors may wait: no successor may depend on this thread.
  const bool destroys = task.has(TaskNode::kHasCaptures);
  task.state.store(TaskState::Done, std::memory_order_release);
  std::uintptr_t edge = task.successors.exchange(detail::kClosed, std::memory_order_seq_cst);
  while (edge != 0) {
    TaskNode& successor = detail::edge_head(edge);
    // First: the successor, which owns the edge, may be gone after its release.
    const std::uintptr_t next = detail::edge_word(edge);
    if (release_one(successor)) become_ready(here, successor, destroys ? nullptr : &continuation);
    edge = next;
  }
  // Sequentially consistent with the closing of the list: whoever then begins to wait sees that it is over.
  const bool waited = (task.requests.load(std::memory_order_seq_cst) & TaskNode::kWaited) != 0;
  if (waited || destroys || task.has_submitter()) {
    after_close(here, task);
    return continuation;
  }
  here.deactivated.add(1);
  here.finished.add(1);
  if (here.slot == nullptr) driver_.announce_if_idle();
  let_go(here, task);
  return continuation;
}

// ---- running ---------------------------------------------------------------------------------------------------------

namespace {

/// One kernel of so many is timed, to know whether they are tiny.
constexpr std::int64_t kTasksPerTiming = 16;
/// So many tasks are run one after the other, each released by the one before, until the thread looks around.
constexpr int kLongestChain = 64;

/// Calls a kernel whose parameters are not all data.
void call_with_scalars(const TaskType& type, const void* kernel, const TaskNode& task) {
  constexpr std::size_t kFew = 16;
  std::array<const void*, kFew> few;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  std::vector<const void*> many;
  const void** arguments = few.data();
  if (type.parameter_count > kFew) {
    many.resize(type.parameter_count);
    arguments = many.data();
  }
  void* const* region = task.regions();
  for (std::uint32_t i = 0; i < type.parameter_count; ++i)
    arguments[i] = type.parameters[i].is_data ? *region++ : task.storage() + type.scalar_offsets[i];
  type.run(kernel, arguments);
}

}  // namespace

TaskNode* CpuWorkers::run_fast(ThreadContext& here, TaskNode& task) {
  task.state.store(TaskState::Running, std::memory_order_relaxed);
  const TaskType& type = *task.type;
  TaskNode* const outer = std::exchange(here.task, &task);
  std::exception_ptr failure;
  try {
    const void* const kernel = type.one_off ? task.storage() : type.kernel;
    const bool timed = here.executed.value() % kTasksPerTiming == 0;
    const std::uint64_t begin = timed ? ticks() : 0;
    if (type.operand_count == type.parameter_count)
      type.run(kernel, task.regions());
    else
      call_with_scalars(type, kernel, task);
    if (timed) {
      here.kernel_ticks += ticks() - begin;
      ++here.kernels_timed;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  here.task = outer;
  if (failure) [[unlikely]] {
    Outcome outcome;
    outcome.failure = std::move(failure);
    outcome.began = outcome.ended = driver_.now();
    return lifecycle_.finished(task, outcome, here.worker, true);
  }
  here.executed.add(1);
  if (!type.one_off && static_cast<const PreparedCodelet&>(type).has_work.load(std::memory_order_relaxed))
    add_work(here, task);
  return lifecycle_.finished_fast(here, task);
}

void CpuWorkers::run_chain(ThreadContext& here, std::uint64_t entry) {
  if (LightEntry::is(entry)) {
    run_light(here, entry);
    return;
  }
  if (here.light_run != nullptr) settle_light(here);
  TaskNode* task = task_of(entry);
  if (!lean_ || !is_fast(*task)) {
    task = run_any(here, *task, true);
  } else {
    task = lifecycle_.begin_fast(*task) ? run_fast(here, *task) : nullptr;
  }
  for (int length = 1; task != nullptr; ++length) {
    // Where it has lost its slot while it waited, too.
    if (here.slot == nullptr || length == kLongestChain) {
      lifecycle_.queue_ready(here, *task);
      return;
    }
    if (!lean_)
      task = run_any(here, *task, true);
    else
      task = lifecycle_.begin_fast(*task) ? run_fast(here, *task) : nullptr;
  }
}

}  // namespace hocket::engine
