// SPDX-License-Identifier: Apache-2.0
/// The threads that run tasks of devices which compute on the calling thread (CPU cores).
///
/// A slot is the right to run such tasks: there are as many as the device has workers, each with its queue. A thread
/// occupies a slot while it runs tasks and vacates it when it finds none, when it waits inside a task, or when it ends.
/// Threads of the program that wait take vacant slots too: then the one who wants the result computes it.
///
/// Of the threads that find nothing to do, one at most is the guard: it looks around, first spinning, then sleeping for
/// short times, until it sees work that is worth taking from those who have it; the others sleep until they are woken.
/// Work is worth taking unless its owner gets through it faster than the cache lines would move.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/event_count.hpp"
#include "engine/lifecycle.hpp"
#include "engine/ready_queue.hpp"
#include "engine/thread_context.hpp"
#include "engine/work_stealing_deque.hpp"
#include "graph/recorded_graph.hpp"

namespace hocket::engine {

/// An entry of a queue of the fast lane that is no node: a task of a light run, or the token of one (see
/// light_run.cpp). Addresses of nodes are even.
class LightEntry {
 public:
  explicit LightEntry(std::uint64_t entry) noexcept : entry_(entry) {}
  static std::uint64_t task(std::uint32_t run, std::uint32_t task) noexcept {
    return std::uint64_t{task} << 32 | std::uint64_t{run} << 2 | 1;
  }
  static std::uint64_t token(std::uint32_t run) noexcept { return std::uint64_t{run} << 2 | 3; }
  static bool is(std::uint64_t entry) noexcept { return (entry & 1) != 0; }

  bool is_token() const noexcept { return (entry_ & 2) != 0; }
  std::uint32_t run() const noexcept { return static_cast<std::uint32_t>(entry_) >> 2; }
  std::uint32_t task() const noexcept { return static_cast<std::uint32_t>(entry_ >> 32); }

 private:
  std::uint64_t entry_;
};

inline std::uint64_t entry_of(detail::TaskNode& task) noexcept {
  return reinterpret_cast<std::uintptr_t>(&task);
}
inline detail::TaskNode* task_of(std::uint64_t entry) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<detail::TaskNode*>(static_cast<std::uintptr_t>(entry));
}

struct alignas(128) WorkerSlot {
  DeviceId device{};
  std::uint32_t worker = 0;  ///< Within the device.
  std::uint32_t global = 0;  ///< Among all workers of the policy.
  std::size_t position = 0;  ///< Among the slots.
  std::optional<std::uint32_t> cpu;
  std::atomic<ThreadContext*> occupant{nullptr};
  alignas(128) WorkStealingDeque own;  ///< Fast-lane tasks made ready by its occupant.
  ReadyQueue placed;                   ///< Placed tasks whose operands have come.
};

class CpuWorkers {
 public:
  /// `check`: verify that kernels leave alone what they declared read-only.
  /// `lean`: nobody wants to know of single tasks.
  CpuWorkers(const platform::Machine& machine, Lifecycle& lifecycle, Driver& driver,
             const detail::RunTable& runs, bool check, bool lean);
  CpuWorkers(const CpuWorkers&) = delete;
  CpuWorkers& operator=(const CpuWorkers&) = delete;
  ~CpuWorkers();

  void start();
  /// Lets the threads end once they find nothing to do. Called when nothing is left to run.
  void stop();

  /// A task in the fast lane is ready; from any thread, whose context is `here`.
  void queue(ThreadContext& here, detail::TaskNode& task);
  /// Starts a light run that has been reset.
  void launch(detail::GraphRun& run);
  /// Reports what the calling thread has done of a light run; before it waits.
  void settle_light(ThreadContext& here);
  /// A placed task whose operands have come, for any worker of its device.
  void queue_present(detail::TaskNode& task);
  /// There may be something to take from the policy.
  void wake();

  /// The worker that the calling thread is, if any.
  std::optional<WorkerId> current_worker() const;

  /// Runs a task that is ready on the calling worker, inside the task that it already runs, if it can take it now: out
  /// of the fast lane, from the policy, or from among those whose operands have come.
  bool try_run_inside(detail::TaskNode& task);
  /// Runs one of the uppermost tasks of the calling worker's queue if the task that it runs, `parent`, waits for it: where
  /// it waits for one task, `target`, what that needs; where for all that it has submitted (`target` is itself), any of them.
  bool try_run_child(const detail::TaskNode& parent, const detail::TaskNode& target);

  /// For a thread that waits outside of tasks, for a task or (null) for all: runs what it waits for, in a vacant slot if
  /// there is one, until that is over or nothing more of it is to be found. Returns whether it ran any. Where it waits
  /// for one task, strangers are left alone: one of them may itself wait for what the thread does next.
  /// `enough`, where given, is asked from time to time whether to stop.
  bool take_part(const detail::TaskNode* target, const std::function<bool()>& enough = {});
  /// Whether the kernels that the calling thread ran lately were tiny; false where it ran none. Those count half from
  /// now on.
  static bool judge_kernels(ThreadContext& here) noexcept;
  /// Gives others some milliseconds, at most, to begin with what the calling thread has submitted.
  void let_others_begin();

  /// Called by a thread that is about to wait inside a task: its slot is vacated, and another thread sees to it. Returns
  /// which, for `resume`, which goes on in a slot if one is vacant.
  WorkerSlot* lend_slot();
  void resume(WorkerSlot* slot);

 private:
  enum class Guard : std::uint8_t {
    None,
    Coming,  ///< A sleeping thread has been woken to be it.
    Awake,
    Asleep,  ///< For a short time.
  };
  void thread_main(WorkerSlot* preferred);
  WorkerSlot* occupy(WorkerSlot* preferred);
  void vacate(ThreadContext& here);
  /// Runs tasks until it finds none.
  bool work(ThreadContext& here, const detail::TaskNode* target, const std::function<bool()>& enough = {});
  /// An entry of this thread's queues that `target` needs, itself included; 0: none near at hand.
  std::uint64_t find_work_for(ThreadContext& here, const detail::TaskNode& target);
  bool leads_to(std::uint64_t entry, const detail::TaskNode& target) const;
  static bool leads_on(const detail::TaskNode& task, const detail::TaskNode& target);
  /// An entry of a queue, or the node of a placed task with a reference; 0: none.
  std::uint64_t find_work(ThreadContext& here);
  std::uint64_t steal(ThreadContext& here);
  detail::TaskRef take_from_policy(WorkerSlot& slot);
  void run_chain(ThreadContext& here, std::uint64_t entry);
  void push_entry(ThreadContext& here, std::uint64_t entry);
  void push_light(ThreadContext& here, std::uint64_t entry);
  void run_light(ThreadContext& here, std::uint64_t entry);
  void run_light_entry(ThreadContext& here, std::uint64_t entry);
  void run_light_chain(ThreadContext& here, detail::GraphRun& run, std::uint32_t task);
  bool may_run_light(detail::GraphRun& run, std::uint32_t task);
  static void add_work(ThreadContext& here, detail::TaskNode& task);
  void spoil(detail::GraphRun& run, std::uint32_t task);
  detail::TaskNode* run_fast(ThreadContext& here, detail::TaskNode& task);
  detail::TaskNode* run_placed(ThreadContext& here, detail::TaskNode& task, bool may_continue);
  detail::TaskNode* run_begun(ThreadContext& here, detail::TaskNode& task, bool may_continue);
  static void call_one_off(detail::TaskNode& task, std::span<const Argument> arguments);
  detail::TaskNode* run_any(ThreadContext& here, detail::TaskNode& task, bool may_continue);
  static bool is_fast(const detail::TaskNode& task) noexcept {
    return !task.asked(detail::TaskNode::kPlaced);
  }
  /// Sees to it that somebody looks for work.
  void alert(ThreadContext& here);
  void wake_sleeper();
  void call_someone();
  void call_others();
  bool sees_fast_work(ThreadContext& here, bool only_worthwhile);
  bool sees_several(ThreadContext& here);
  void idle(ThreadContext& here);
  bool stand_guard(ThreadContext& here);
  bool decide_to_step_aside(ThreadContext& here);
  /// Instead of the progress of a queue that nobody works on.
  static constexpr std::int64_t kAbandoned = -1;
  std::uint64_t nanoseconds() const noexcept;
  bool worth_taking(Sight& sight, std::int64_t progress) const noexcept;
  template <class Function>
  bool for_each_victim(ThreadContext& here, Function&& visit);

  const platform::Machine& machine_;
  Lifecycle& lifecycle_;
  ThreadContexts& contexts_;
  Driver& driver_;
  const detail::RunTable& runs_;
  const bool check_;
  const bool lean_;  ///< Nobody wants to know of single tasks.

  std::vector<std::unique_ptr<WorkerSlot>> slots_;
  std::atomic<std::uint32_t> vacant_{0};  ///< Slots; may lag behind.
  std::atomic<bool> skipped_{
      false};  ///< Somebody who made a task ready called nobody, since no slot was vacant.
  std::atomic<Guard> guard_{Guard::None};
  EventCount guard_event_;  ///< Where the guard sleeps.
  EventCount sleepers_;     ///< Where the others sleep.
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> loading_{0};  ///< Tasks placed on CPU devices whose operands are still to come.
  std::atomic<std::uint32_t> placed_{0};   ///< Entries in the slots' `placed` queues.
  std::atomic<std::uint32_t> policy_calls_{0};  ///< Grows with each `wake`.

  std::mutex spoil_mutex_;    ///< Guards the making of `GraphRun::spoilt`.
  std::mutex threads_mutex_;  ///< Guards `threads_`.
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> threads_at_hand_{0};  ///< Threads that run no task and do not wait inside one.
};

}  // namespace hocket::engine
