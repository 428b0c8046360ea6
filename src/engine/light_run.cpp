// SPDX-License-Identifier: Apache-2.0
/// Light runs of recorded graphs: every task is a CPU kernel on data at home, so that a run needs nothing but a counter
/// for each task. In the workers' queues a task is a number (see `LightEntry`).
///
/// Tasks without predecessors are not queued one by one. A token in the queue stands for all of them: who takes it puts
/// it back, unless they are used up, and takes a few by counting up `GraphRun::next_root`. The token counts as one task
/// in `GraphRun::remaining`, so that no entry of a run is left in any queue when the run is over.
#include <algorithm>

#include "engine/cpu_workers.hpp"
#include "engine/failures.hpp"
#include "graph/datum.hpp"
#include "graph/recorded_graph.hpp"

namespace hocket::engine {

using detail::GraphRun;
using detail::kEndOfRun;
using detail::kValueEdge;
using detail::LightTask;
using detail::RecordedGraph;
using detail::TaskNode;

namespace {

/// Of the tasks that are left to start with, the share that one worker takes at a time: small enough that a long one
/// among them keeps no other waiting for long.
constexpr std::uint32_t kShare = 8;
constexpr std::uint32_t kMostRootsAtOnce = 16;

}  // namespace

void CpuWorkers::launch(GraphRun& run) {
  run.next_root.store(0, std::memory_order_release);
  push_light(contexts_.here(), LightEntry::token(run.number));
}

/// What lies in a queue is active, until whoever takes it has run what it leads to.
void CpuWorkers::push_light(ThreadContext& here, std::uint64_t entry) {
  here.activated.add(1);
  push_entry(here, entry);
}

void CpuWorkers::run_light(ThreadContext& here, std::uint64_t entry) {
  run_light_entry(here, entry);
  here.deactivated.add(1);
}

void CpuWorkers::run_light_entry(ThreadContext& here, std::uint64_t entry) {
  const LightEntry light(entry);
  GraphRun& run = runs_[light.run()];
  if (here.light_run != &run) {
    settle_light(here);
    here.light_run = &run;
  }
  if (!light.is_token()) {
    run_light_chain(here, run, light.task());
    return;
  }
  const std::vector<std::uint32_t>& roots = run.graph.roots();
  const auto count = static_cast<std::uint32_t>(roots.size());
  const std::uint32_t taken = run.next_root.load(std::memory_order_relaxed);
  const std::uint32_t left = count > taken ? count - taken : 0;
  const std::uint32_t share = std::clamp<std::uint32_t>(
      left / (kShare * static_cast<std::uint32_t>(slots_.size())), 1, kMostRootsAtOnce);
  const std::uint32_t first = run.next_root.fetch_add(share, std::memory_order_relaxed);
  const std::uint32_t last = std::min(first + share, count);
  if (last < count)
    push_light(here, entry);
  else
    ++here.light_done;  // the token
  for (std::uint32_t i = first; i < last; ++i) run_light_chain(here, run, roots[i]);
}

/// Runs a task and, one after the other, those that become ready for this worker.
void CpuWorkers::run_light_chain(ThreadContext& here, GraphRun& run, std::uint32_t task) {
  const RecordedGraph& graph = run.graph;
  const LightTask* const tasks = graph.light_tasks();
  const void* const* const arguments = graph.light_arguments();
  const std::uint32_t* const successors = graph.successors();
  std::uint32_t* const counters = run.counters.get();
  const std::uint64_t id = index(run.id);
  const ThreadContext::LightTaskInHand outer = here.light_task;
  TaskNode* const outer_task = std::exchange(here.task, nullptr);
  constexpr std::uint32_t kNone = 0xffffffffu;
  while (task != kNone) {
    const LightTask& light = tasks[task];
    bool runs = true;
    if (id <= lifecycle_.cancelled_up_to.load(std::memory_order_relaxed) ||
        run.spoilt.load(std::memory_order_acquire) != nullptr) [[unlikely]]
      runs = may_run_light(run, task);
    if (runs) {
      here.light_task = {&run, task};
      const detail::TaskType& type = *light.type;
      const void* const* const first = arguments + light.first_argument;
      std::exception_ptr failure;
      try {
        if (type.one_off)
          type.run(*first, first + 1);
        else
          type.run(type.kernel, first);
      } catch (...) {
        failure = std::current_exception();
      }
      if (here.task != nullptr) [[unlikely]]  // somebody asked for a node to stand for the task
        Lifecycle::retire_stand_in(*std::exchange(here.task, nullptr));
      if (failure) [[unlikely]] {
        lifecycle_.light_failed(run, graph.task(task), failure, here.worker);
        runs = false;
      } else {
        here.executed.add(1);
        if (light.has_work) add_work(here, graph.task(task));
      }
      if (here.light_run != &run) [[unlikely]] {  // the kernel has waited
        settle_light(here);
        here.light_run = &run;
      }
    }
    std::uint32_t next = kNone;
    const std::uint32_t* const end = successors + tasks[task + 1].first_successor;
    for (const std::uint32_t* edge = successors + light.first_successor; edge != end; ++edge) {
      if (*edge == kEndOfRun) continue;
      const std::uint32_t successor = *edge & ~kValueEdge;
      if (!runs && (*edge & kValueEdge) != 0) spoil(run, successor);
      const std::atomic_ref<std::uint32_t> counter(counters[successor]);
      // Acquire-release: what the predecessors did is seen by whoever runs the successor. A lone predecessor needs no
      // read-modify-write: nobody else changes the counter.
      if (counter.load(std::memory_order_acquire) != 1 &&
          counter.fetch_sub(1, std::memory_order_acq_rel) != 1)
        continue;
      if (next == kNone && !lifecycle_.holds_urgent(*lifecycle_.fast_device()))
        next = successor;
      else
        push_light(here, LightEntry::task(run.number, successor));
    }
    ++here.light_done;
    if (next != kNone && here.slot == nullptr) [[unlikely]] {  // it has lost its slot while it waited
      push_light(here, LightEntry::task(run.number, next));
      next = kNone;
    }
    task = next;
  }
  here.light_task = outer;
  here.task = outer_task;
}

/// For a run of which something has failed or been cancelled.
bool CpuWorkers::may_run_light(GraphRun& run, std::uint32_t task) {
  const std::atomic<bool>* const spoilt = run.spoilt.load(std::memory_order_acquire);
  if (index(run.id) > lifecycle_.cancelled_up_to.load(std::memory_order_relaxed) &&
      (spoilt == nullptr || !spoilt[task].load(std::memory_order_relaxed)))
    return true;
  lifecycle_.light_cancelled(run);
  return false;
}

void CpuWorkers::add_work(ThreadContext& here, TaskNode& recorded) {
  here.totals.flops.store(
      here.totals.flops.load(std::memory_order_relaxed) + Lifecycle::work_of(recorded).flops,
      std::memory_order_relaxed);
}

/// A task must not run. Before its counter falls, so that whoever runs it sees it.
void CpuWorkers::spoil(GraphRun& run, std::uint32_t task) {
  std::atomic<bool>* spoilt = run.spoilt.load(std::memory_order_acquire);
  if (spoilt == nullptr) {
    const std::lock_guard lock(spoil_mutex_);
    spoilt = run.spoilt.load(std::memory_order_relaxed);
    if (spoilt == nullptr) {
      run.spoilt_memory = std::make_unique<std::atomic<bool>[]>(run.graph.size());
      spoilt = run.spoilt_memory.get();
      run.spoilt.store(spoilt, std::memory_order_release);
    }
  }
  spoilt[task].store(true, std::memory_order_relaxed);
}

/// Reports the tasks of a light run that this thread has come to the end of. The last one ends the run.
void CpuWorkers::settle_light(ThreadContext& here) {
  GraphRun* const run = std::exchange(here.light_run, nullptr);
  if (run == nullptr) return;
  const std::int64_t done = std::exchange(here.light_done, 0);
  if (done == 0 || run->remaining.fetch_sub(done, std::memory_order_acq_rel) != done) return;
  lifecycle_.light_run_over(*run);
}

}  // namespace hocket::engine
