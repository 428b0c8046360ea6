// SPDX-License-Identifier: Apache-2.0
/// What a thread that waits does of the work that it waits for, inside a task or outside of all.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "engine/cpu_workers.hpp"
#include "engine/failures.hpp"

namespace hocket::engine {

using detail::TaskNode;
using detail::TaskRef;

bool CpuWorkers::try_run_child(const TaskNode& parent, const TaskNode& target) {
  ThreadContext& here = contexts_.here();
  if (here.slot == nullptr) return false;
  const auto needed = [&](std::uint64_t entry) {
    if (LightEntry::is(entry)) return false;
    return &target == &parent ? task_of(entry)->parent() == &parent : leads_to(entry, target);
  };
  constexpr std::size_t kMostLooks = 8;
  std::array<std::uint64_t, kMostLooks> passed_over;
  std::size_t count = 0;
  std::uint64_t found = 0;
  while (count < kMostLooks && found == 0) {
    const std::uint64_t entry = here.slot->own.pop();
    if (entry == 0) break;
    if (needed(entry))
      found = entry;
    else
      passed_over[count++] = entry;
  }
  while (count > 0) here.slot->own.push(passed_over[--count]);
  if (found == 0) return false;
  run_any(here, *task_of(found), false);
  return true;
}

bool CpuWorkers::try_run_inside(TaskNode& task) {
  ThreadContext& here = contexts_.here();
  // Having lent its slot does not keep a waiting thread from what it waits for.
  if (here.last_slot == nullptr) return false;
  WorkerSlot& slot = *here.last_slot;
  const TaskRef reference(&task);
  if (task.state.load(std::memory_order_seq_cst) != TaskState::Ready || task.kind != detail::TaskKind::Kernel)
    return false;
  if (is_fast(task)) {
    if (slot.device != lifecycle_.fast_device() || !lifecycle_.take_out_of_queue(task)) return false;
    if (!lifecycle_.refuse_taken(task)) run_begun(here, task, false);
    return true;
  }
  if (lifecycle_.take_out_of_turn(task, slot.device, slot.worker)) {
    if (lifecycle_.refuse(task)) return true;
    loading_.fetch_add(1, std::memory_order_relaxed);
    const Placing placing = lifecycle_.place(task, slot.device);
    if (placing == Placing::Waiting) return false;  // `queue_present` counts it down
    loading_.fetch_sub(1, std::memory_order_relaxed);
    if (placing == Placing::Over) return true;
  } else {
    const bool taken = std::any_of(slots_.begin(), slots_.end(), [&](const auto& other) {
      return other->device == slot.device && other->placed.remove(task);
    });
    if (!taken) return false;
    placed_.fetch_sub(1, std::memory_order_relaxed);
  }
  TaskNode* const next = run_placed(here, task, false);
  if (next != nullptr) lifecycle_.queue_ready(here, *next);
  return true;
}

std::uint64_t CpuWorkers::find_work_for(ThreadContext& here, const TaskNode& target) {
  // What has become ready meanwhile, newest first; then what this thread has submitted, in its order. What is not
  // needed goes to the end of the latter.
  constexpr int kMostLooks = 16;
  bool put_back = false;
  for (int look = 0; look < kMostLooks; ++look) {
    std::uint64_t entry = here.slot->own.pop();
    if (entry == 0) {
      settle_light(here);
      if (target.closed() || here.queue.size_hint() == 0) return 0;
      entry = here.queue.take();
      if (entry == 0) return 0;
    }
    if (leads_to(entry, target)) {
      if (put_back) call_others();  // who looked meanwhile did not see what had been taken out
      return entry;
    }
    here.queue.push(entry);
    put_back = true;
  }
  settle_light(here);
  return 0;
}

/// Whether `target` waits for the task of an entry that this thread has taken out of its queue, as far as that is easily
/// seen.
bool CpuWorkers::leads_to(std::uint64_t entry, const TaskNode& target) const {
  if (LightEntry::is(entry)) return runs_[LightEntry(entry).run()].end.get() == &target;
  TaskNode& task = *task_of(entry);
  if (&task == &target) return true;
  if (!is_fast(task)) return leads_on(task, target);
  // While the task is not over, what waits for it stays where it is: it must be kept from those who take tasks out of
  // their turn, unless one of them has it.
  if (!lifecycle_.hold(task)) return false;
  const bool leads = leads_on(task, target);
  lifecycle_.let_loose(task);
  return leads;
}

/// The same for a task that is not over, and that nobody can run meanwhile.
bool CpuWorkers::leads_on(const TaskNode& task, const TaskNode& target) {
  // Forward along the edges. Tasks that wait for one that nobody runs stay where they are.
  constexpr std::size_t kMostTasks = 32;
  std::array<const TaskNode*, kMostTasks> seen;
  std::size_t count = 0;
  seen[count++] = &task;
  for (std::size_t i = 0; i < count; ++i) {
    if (seen[i] == &target) return true;
    std::uintptr_t edge = seen[i]->successors.load(std::memory_order_acquire);
    for (; edge != 0 && edge != detail::kClosed && count < kMostTasks; edge = detail::edge_word(edge)) {
      const TaskNode* const head = &detail::edge_head(edge);
      if (std::find(seen.begin(), seen.begin() + count, head) == seen.begin() + count) seen[count++] = head;
    }
  }
  return false;
}

bool CpuWorkers::take_part(const TaskNode* target, const std::function<bool()>& enough) {
  ThreadContext& here = contexts_.here();
  if (here.slot != nullptr || occupy(nullptr) == nullptr) return false;
  const bool ran = work(here, target, enough);
  const bool left = here.slot != nullptr && here.slot->own.size_hint() != 0;
  vacate(here);
  driver_.announce_if_idle();  // as every thread that gives up its slot
  // Who looked for a vacant slot meanwhile found none, and counts what the policy was said to hold as seen to.
  if (placed_.load(std::memory_order_seq_cst) != 0 || lifecycle_.policy_holds_tasks()) {
    wake();
  } else if (left || here.queue.size_hint() != 0) {
    call_someone();
  } else if (skipped_.load(std::memory_order_seq_cst)) {
    skipped_.store(false, std::memory_order_seq_cst);
    call_others();
  }
  return ran;
}

void CpuWorkers::let_others_begin() {
  ThreadContext& here = contexts_.here();
  constexpr Seconds kLongest{20e-3};  // a busy machine takes its time to start a thread
  const std::uint64_t taken = here.queue.taken();
  call_someone();
  const Seconds begin = driver_.now();
  while (here.queue.taken() == taken && here.queue.size_hint() != 0 &&
         vacant_.load(std::memory_order_relaxed) != 0 && driver_.now() - begin < kLongest)
    std::this_thread::yield();
}

void CpuWorkers::call_someone() {
  guard_event_.notify_one();
  wake_sleeper();
}

/// Sees to it that what is left is looked at, if anything is.
void CpuWorkers::call_others() {
  heavy_fence();
  if (sees_fast_work(contexts_.here(), false)) call_someone();
}

// ---- waiting inside a task ----------------------------------------------------------------------------------------------

WorkerSlot* CpuWorkers::lend_slot() {
  ThreadContext& here = contexts_.here();
  WorkerSlot* const slot = here.slot;
  if (slot == nullptr) return nullptr;
  vacate(here);
  bool spawn = false;
  {
    const std::lock_guard lock(threads_mutex_);
    spawn =
        threads_at_hand_.load(std::memory_order_seq_cst) == 0 && !stopping_.load(std::memory_order_relaxed);
    if (spawn) {
      threads_at_hand_.fetch_add(1, std::memory_order_relaxed);
      try {
        threads_.emplace_back([this, slot] { thread_main(slot); });
      } catch (...) {
        // No thread is to be had: the slot is there for those who come back.
        threads_at_hand_.fetch_sub(1, std::memory_order_relaxed);
        spawn = false;
        static std::once_flag complained;
        std::call_once(complained, [] {
          spdlog::warn(
              "hocket: no further thread can be started, so that workers whose tasks wait may stay idle: {}",
              message_of(std::current_exception()));
        });
      }
    }
  }
  if (!spawn) wake();
  return slot;
}

void CpuWorkers::resume(WorkerSlot* slot) {
  if (slot != nullptr) occupy(slot);
}

}  // namespace hocket::engine
