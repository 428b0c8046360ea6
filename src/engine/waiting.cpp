// SPDX-License-Identifier: Apache-2.0
/// Waiting for tasks: by threads of the user, and by tasks for the tasks that they have submitted.
#include <fmt/format.h>

#include <unordered_set>

#include "engine/engine.hpp"
#include "engine/failures.hpp"

namespace hocket::detail {

namespace {

/// How often a sleeper looks whether anything can still happen.
constexpr Seconds kStuckCheckInterval{0.05};
/// So many times in a row nothing could, before a wait is given up: a thread may be between two steps of a
/// submission. Tasks give up first: their failure may be what the program waits for.
constexpr int kTimesStuckInTask = 3;
constexpr int kTimesStuckOutside = 12;

/// Counts a task among those that wait, as long as it lives.
class Blocked {
 public:
  Blocked(engine::ThreadContext& here, bool counts) : here_(here), counts_(counts) {
    if (counts_) here_.blocked.add(1);
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
  ~Blocked() {
    if (counts_) here_.blocked.add(-1);
  }

 private:
  engine::ThreadContext& here_;
  const bool counts_;
};

}  // namespace

void Engine::announce(TaskNode& /*task*/) {
  { const std::lock_guard lock(wait_mutex_); }
  wait_changed_.notify_all();
}

void Engine::announce_if_idle() {
  // Pairs with the increment in `sleep_until`: either this sees the waiter, or the waiter sees the counters.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (idle_waiters_.load(std::memory_order_seq_cst) == 0 || lifecycle_.outstanding() != 0) return;
  { const std::lock_guard lock(wait_mutex_); }
  wait_changed_.notify_all();
}

/// Whether nothing will happen by itself any more: all that is active waits for others, and every host access under
/// way is held by the asking thread.
bool Engine::stuck() {
  if (lifecycle_.active() > contexts_->sum(&engine::ThreadContext::blocked)) return false;
  const std::lock_guard lock(host_access_mutex_);
  const auto mine = host_accesses_.find(std::this_thread::get_id());
  return host_accesses_held_ == (mine == host_accesses_.end() ? 0 : mine->second);
}

bool Engine::sleep_until(const std::function<bool()>& done, TaskNode* target, std::optional<Seconds> limit) {
  if (done()) return true;
  engine::ThreadContext& here = contexts_->here();
  cpu_workers_.settle_light(here);
  // A task whose wait has a limit goes on by itself: it is active, not blocked. One that runs meanwhile what it waits
  // for is blocked all the same, and what it runs is active.
  const bool in_task = current_task(here) != nullptr;
  const Blocked blocked(here, in_task && !limit);
  if (!limit && work_until(here, done, target)) return true;

  const bool on_worker = here.slot != nullptr;
  const Seconds deadline = limit ? now() + *limit : Seconds{};
  // Sequentially consistent, as are the checks of those who announce: they see the waiter, or this sees the change.
  if (target != nullptr)
    target->requests.fetch_or(TaskNode::kWaited, std::memory_order_seq_cst);
  else
    idle_waiters_.fetch_add(1, std::memory_order_seq_cst);
  // A worker may also wait between tasks: where the last handle of borrowed data goes with what a kernel captured.
  engine::WorkerSlot* const lent = on_worker ? cpu_workers_.lend_slot() : nullptr;
  const auto come_back = [&] {
    cpu_workers_.resume(lent);
    if (target == nullptr) idle_waiters_.fetch_sub(1, std::memory_order_relaxed);
  };
  Sleep end = Sleep::Late;
  try {
    end = sleep(done, target, limit ? std::optional(deadline) : std::nullopt, in_task, on_worker);
  } catch (...) {
    come_back();
    throw;
  }
  come_back();
  if (end == Sleep::Hopeless)
    throw Error(fmt::format(
        "waiting for {} would never end: nothing runs, and what is left waits for {}",
        target != nullptr ? fmt::format("task '{}'", target->display_name())
                          : std::string("the submitted tasks"),
        in_task ? "the very task that waits; do not wait in a task for work on data that the task itself was "
                  "given"
                : "a view that this thread holds (Runtime::read or write); let it go out of scope first"));
  return end == Sleep::Reached;
}

/// What can be done towards the end of a wait before the thread sleeps; whether that was enough.
bool Engine::work_until(engine::ThreadContext& here, const std::function<bool()>& done, TaskNode* target) {
  TaskNode* const inside = current_task(here);
  if (inside != nullptr && target != nullptr)
    while (!done() && (cpu_workers_.try_run_child(*inside, *target) || work_towards(*target))) {
    }
  // Who waits computes: a thread of the program takes the place of a worker that has none.
  if (inside == nullptr && here.slot == nullptr)
    while (!done() && cpu_workers_.take_part(target)) {
    }
  return done() || spin_until(done);
}

/// Sleeps, and does now and then what has become ready of that which it waits for.
Engine::Sleep Engine::sleep(const std::function<bool()>& done, TaskNode* target,
                            std::optional<Seconds> deadline, bool in_task, bool on_worker) {
  int times_stuck = 0;
  std::unique_lock lock(wait_mutex_);
  while (!done()) {
    if (deadline && now() >= *deadline) return Sleep::Late;
    double nap = kStuckCheckInterval.count;
    if (deadline) nap = std::min(nap, (*deadline - now()).count);
    const bool notified =
        wait_changed_.wait_for(lock, std::chrono::duration<double>(nap)) == std::cv_status::no_timeout;
    if (deadline || (notified && done())) continue;
    lock.unlock();
    // What it waits for may have become ready meanwhile, and every other worker hang on a lock that this task holds.
    if (in_task && target != nullptr && work_towards(*target)) times_stuck = 0;
    if (!in_task && !on_worker && cpu_workers_.take_part(target)) times_stuck = 0;
    if (!notified) times_stuck = stuck() ? times_stuck + 1 : 0;
    lock.lock();
    if (times_stuck >= (in_task ? kTimesStuckInTask : kTimesStuckOutside) && !done()) return Sleep::Hopeless;
  }
  return Sleep::Reached;
}

/// Looks for some microseconds whether another thread comes to the end of what is waited for.
bool Engine::spin_until(const std::function<bool()>& done) const {
  constexpr double kSpinSeconds = 20e-6;  // less than it takes to be woken
  const Seconds end = now() + Seconds{kSpinSeconds};
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  } while (now() < end);
  return false;
}

/// Runs what `target` needs, itself included, as far as it is ready or becomes so in turn, on the calling worker.
/// Strangers are left alone: one of them might need a lock that the waiting task holds. False where there is none.
bool Engine::work_towards(TaskNode& target) {
  struct Step {
    TaskNode* node;  ///< Kept, as are all before it, by the target.
    bool again;      ///< Its predecessors have been looked at.
  };
  std::vector<Step> stack{{&target, false}};
  std::unordered_set<TaskNode*> seen;
  bool ran = false;
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    if (step.node->over() || (!step.again && !seen.insert(step.node).second)) continue;
    if (cpu_workers_.try_run_inside(*step.node)) {
      ran = true;
      continue;
    }
    const TaskExtra* const extra = step.node->extra_or_null();
    if (step.again || !step.node->has_submitter() || extra == nullptr) continue;
    stack.push_back({step.node, true});
    for (TaskNode* const predecessor : extra->predecessors) stack.push_back({predecessor, false});
  }
  return ran;
}

bool Engine::wait_for(TaskNode& task, std::optional<Seconds> limit) {
  return sleep_until([&] { return task.successors.load(std::memory_order_seq_cst) == kClosed; }, &task,
                     limit);
}

void Engine::throw_failure(TaskNode& task) {
  const std::exception_ptr error = engine::error_of(task);
  if (!error) return;
  task.extra().reported.store(true, std::memory_order_relaxed);
  if (TaskNode* const culprit = task.failed_by(); culprit != nullptr)
    culprit->extra().reported.store(true, std::memory_order_relaxed);
  std::rethrow_exception(error);
}

void Engine::wait_all() {
  TaskNode* const inside = current_task(contexts_->here());
  if (inside != nullptr) {
    // In a task: for the tasks that it has submitted.
    sleep_until([&] { return inside->pending.load(std::memory_order_seq_cst) == 0; }, inside, std::nullopt);
  } else {
    sleep_until([this] { return lifecycle_.outstanding() == 0; }, nullptr, std::nullopt);
    codelets_->reap(*contexts_);
  }
  std::vector<TaskRef> failures = lifecycle_.take_failures(inside);
  if (failures.empty()) return;
  if (failures.size() == 1) std::rethrow_exception(failures.front()->extra().error);
  try {
    std::rethrow_exception(failures.front()->extra().error);
  } catch (const TaskError& first) {
    throw TaskError(fmt::format("{} ({} other tasks failed as well)", first.what(), failures.size() - 1),
                    first.failure(), first.task(), first.device(), first.location(), first.cause());
  }
}

void Engine::cancel_all() {
  const std::uint64_t last = next_id_.load(std::memory_order_relaxed) - 1;
  std::uint64_t before = lifecycle_.cancelled_up_to.load(std::memory_order_relaxed);
  while (before < last &&  // another thread may have cancelled more meanwhile
         !lifecycle_.cancelled_up_to.compare_exchange_weak(before, last, std::memory_order_relaxed)) {
  }
}

bool Engine::cancel(TaskNode& task) { return task.kind == TaskKind::Kernel && lifecycle_.cancel(task); }

}  // namespace hocket::detail
