// SPDX-License-Identifier: Apache-2.0
/// Waiting for tasks: by threads of the user, and by tasks for the tasks that they have submitted.
#include <fmt/format.h>

#include "engine/engine.hpp"
#include "engine/failures.hpp"

namespace hocket::detail {

using engine::CpuWorkers;

namespace {

/// How often a sleeper looks whether anything can still happen.
constexpr Seconds kStuckCheckInterval{0.05};
/// So many times in a row nothing could, before a wait is given up: a thread may be between two steps of a
/// submission. Tasks give up first: their failure may be what the program waits for.
constexpr int kTimesStuckInTask = 3;
constexpr int kTimesStuckOutside = 12;

}  // namespace

void Engine::announce(TaskNode& task) {
  // Pairs with the increments in `sleep_until`: either this sees the waiter, or the waiter sees the new state.
  if (task.waiters.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard lock(wait_mutex_); }
  wait_changed_.notify_all();
}

void Engine::announce_idle() {
  if (idle_waiters_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard lock(wait_mutex_); }
  wait_changed_.notify_all();
}

/// Whether nothing will happen by itself any more: all that is active waits for others, and every host access under
/// way is held by the asking thread.
bool Engine::stuck() {
  if (lifecycle_.active.load(std::memory_order_seq_cst) > blocked_tasks_.load(std::memory_order_seq_cst))
    return false;
  const std::lock_guard lock(host_access_mutex_);
  const auto mine = host_accesses_.find(std::this_thread::get_id());
  return host_accesses_held_ == (mine == host_accesses_.end() ? 0 : mine->second);
}

bool Engine::sleep_until(const std::function<bool()>& done, TaskNode* target, std::optional<Seconds> limit) {
  if (done()) return true;
  TaskNode* const inside = CpuWorkers::current_task();
  const bool on_worker = cpu_workers_.current_worker().has_value();
  const bool in_task = inside != nullptr && inside->engine == this && on_worker;
  if (in_task && target != nullptr && !limit)
    while (!done() && work_towards(*target)) {
    }
  if (done()) return true;

  const Seconds deadline = limit ? now() + *limit : Seconds{};
  std::atomic<std::uint32_t>& waiters = target != nullptr ? target->waiters : idle_waiters_;
  waiters.fetch_add(1, std::memory_order_seq_cst);
  // A task whose wait has a limit goes on by itself: it is active, not blocked.
  const bool blocks = in_task && !limit;
  if (blocks) blocked_tasks_.fetch_add(1, std::memory_order_seq_cst);
  // A worker may also wait between tasks: where the last handle of borrowed data goes with what a kernel captured.
  if (on_worker) cpu_workers_.lend_slot();
  bool reached = false;
  bool hopeless = false;
  int times_stuck = 0;
  {
    std::unique_lock lock(wait_mutex_);
    while (!(reached = done())) {
      if (limit && now() >= deadline) break;
      double nap = kStuckCheckInterval.count;
      if (limit) nap = std::min(nap, (deadline - now()).count);
      const bool notified =
          wait_changed_.wait_for(lock, std::chrono::duration<double>(nap)) == std::cv_status::no_timeout;
      if (limit || notified) continue;
      lock.unlock();
      // What it waits for may have become ready meanwhile, and every other worker hang on a lock that this task holds.
      if (in_task && target != nullptr && work_towards(*target)) times_stuck = 0;
      times_stuck = stuck() ? times_stuck + 1 : 0;
      lock.lock();
      if (times_stuck >= (in_task ? kTimesStuckInTask : kTimesStuckOutside) && !done()) {
        hopeless = true;
        break;
      }
    }
  }
  if (on_worker) cpu_workers_.resume();
  if (blocks) blocked_tasks_.fetch_sub(1, std::memory_order_seq_cst);
  waiters.fetch_sub(1, std::memory_order_relaxed);
  if (hopeless)
    throw Error(fmt::format(
        "waiting for {} would never end: nothing runs, and what is left waits for {}",
        target != nullptr ? fmt::format("task '{}'", target->display_name())
                          : std::string("the submitted tasks"),
        in_task ? "the very task that waits; do not wait in a task for work on data that the task itself was "
                  "given"
                : "a view that this thread holds (Runtime::read or write); let it go out of scope first"));
  return reached;
}

/// Runs one ready task that `target` needs, `target` itself included, on the calling worker. Strangers are left alone:
/// one of them might need a lock that the waiting task holds. False where there is none.
bool Engine::work_towards(TaskNode& target) {
  std::vector<TaskNode*> stack{&target};
  std::vector<TaskNode*> seen;
  while (!stack.empty()) {
    TaskNode* const node = stack.back();
    stack.pop_back();
    if (node->over() || std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
    seen.push_back(node);
    if (cpu_workers_.try_run_inside(*node)) return true;
    if (node->parent != nullptr && node->details)
      stack.insert(stack.end(), node->details->predecessors.begin(), node->details->predecessors.end());
  }
  return false;
}

bool Engine::wait_for(TaskNode& task, std::optional<Seconds> limit) {
  return sleep_until([&] { return task.over(); }, &task, limit);
}

void Engine::throw_failure(TaskNode& task) {
  const std::exception_ptr error = engine::error_of(task);
  if (!error) return;
  task.reported.store(true, std::memory_order_relaxed);
  if (TaskNode* const culprit = task.failed_by.load(std::memory_order_acquire); culprit != nullptr)
    culprit->reported.store(true, std::memory_order_relaxed);
  std::rethrow_exception(error);
}

void Engine::wait_all() {
  TaskNode* const inside = CpuWorkers::current_task();
  if (inside != nullptr && inside->engine == this) {
    // In a task: for the tasks that it has submitted.
    sleep_until([&] { return inside->live_children.load(std::memory_order_seq_cst) == 0; }, inside,
                std::nullopt);
  } else {
    sleep_until([this] { return lifecycle_.outstanding.load(std::memory_order_seq_cst) == 0; }, nullptr,
                std::nullopt);
  }
  const bool in_task = inside != nullptr && inside->engine == this;
  std::vector<TaskRef> failures = lifecycle_.take_failures(in_task ? inside : nullptr);
  if (failures.empty()) return;
  if (failures.size() == 1) std::rethrow_exception(failures.front()->error);
  try {
    std::rethrow_exception(failures.front()->error);
  } catch (const TaskError& first) {
    throw TaskError(fmt::format("{} ({} other tasks failed as well)", first.what(), failures.size() - 1),
                    first.failure(), first.task(), first.device(), first.location(), first.cause());
  }
}

void Engine::cancel_all() {
  lifecycle_.cancelled_up_to.store(next_id_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

bool Engine::cancel(TaskNode& task) { return task.kind == TaskKind::Kernel && lifecycle_.cancel(task); }

}  // namespace hocket::detail
