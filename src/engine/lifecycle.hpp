// SPDX-License-Identifier: Apache-2.0
/// The rules of a task's life, in the order in which they apply: submitted, ready, placed, operands present,
/// running, done, successors released. Written once: whoever drives the engine calls these functions and does what they
/// ask of it through `Driver`, which also tells the time. Those of the fast lane are in fast_lane.cpp, beside the workers'
/// part of it.
///
/// All functions may be called by any thread.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <hocket/policy.hpp>
#include <hocket/runtime.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cost/history_model.hpp"
#include "engine/asymmetric_fence.hpp"
#include "engine/thread_context.hpp"
#include "graph/task_node.hpp"
#include "memory/manager.hpp"
#include "platform/machine.hpp"
#include "trace/recorder.hpp"

namespace hocket::engine {

/// What the rules ask of whoever drives.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual Seconds now() const = 0;
  /// A task in the fast lane is ready: any CPU worker may run it at once.
  virtual void queue_fast(ThreadContext& here, detail::TaskNode& task) = 0;
  /// A task's operands have arrived on its device: a worker of it is to run it; or, for a host access,
  /// `Lifecycle::grant` is due. May be called with the memory manager's lock held.
  virtual void queue_present(detail::TaskNode& task) = 0;
  /// The policy has something for some of these devices (a bit set).
  virtual void wake(std::uint64_t devices) = 0;
  /// The worker that this thread is, for locality; none for threads of the user.
  virtual std::optional<WorkerId> current_worker() const = 0;
  /// A task is over, or a host access has been granted: threads that wait for it are to look.
  virtual void announce(detail::TaskNode& task) = 0;
  /// A thread that runs no tasks by itself has ended one: those who wait for all are to look.
  virtual void announce_if_idle() = 0;
  /// The start or the end of a graph's run is ready; `withdrawn`: to be cancelled.
  virtual void marker_ready(detail::TaskNode& task, bool withdrawn) = 0;
};

/// What came of running a task.
struct Outcome {
  std::exception_ptr failure;  ///< What the kernel threw, or the device reported; null: success.
  Seconds began{};
  Seconds ended{};
  std::optional<Seconds> busy;  ///< What the device itself measured.
  std::optional<Seconds> modelled;
};

/// What came of binding a task to a device.
enum class Placing {
  Present,  ///< Its operands are there: run it.
  Waiting,  ///< For copies or room: `Driver::queue_present` follows.
  Over,     ///< It failed.
};

class Lifecycle {
 public:
  Lifecycle(const platform::Machine& machine, memory::Manager& memory, std::unique_ptr<Policy> policy,
            trace::Recorder& recorder, ThreadContexts& contexts, Driver& driver);

  // ---- eligibility -------------------------------------------------------------------------------------------

  /// Notes which devices can run a task that is not plain by itself: those that `on` admits, for which its codelet has
  /// a variant whose formats its data can take, and whose memory holds its operands. Throws `NoEligibleDevice` or
  /// `OutOfMemory` with the reasons where there is none.
  void find_eligible(detail::TaskNode& task, std::uint64_t admitted);
  /// Why a device is not eligible for a task; empty where it is.
  std::string why_not(detail::TaskNode& task, const DeviceInfo& device);
  /// The devices that can run a task, as far as it is known.
  std::uint64_t eligible(const detail::TaskNode& task) const noexcept;
  /// Where a task is bound to run, or ran.
  DeviceId device_of(const detail::TaskNode& task) const noexcept;
  /// The variant for a device, or null.
  static const Variant* variant_for(const detail::CodeletCore& codelet, const DeviceInfo& device) noexcept;
  /// The format in which a task's operands are wanted on a device, one for each operand.
  std::vector<Format> formats_for(detail::TaskNode& task, const DeviceInfo& device) const;

  // ---- the life ----------------------------------------------------------------------------------------------

  /// Every task that it waited for is over.
  void ready(ThreadContext& here, detail::TaskNode& task);
  /// Whoever makes a task in the fast lane ready, or has taken it to run it: whether to go on. Otherwise it is over, or
  /// somebody else sees to it, and the caller's hold on it is gone.
  bool begin_fast(detail::TaskNode& task) {
    task.begun.store(1, std::memory_order_relaxed);
    light_fence();  // pairs with the heavy one of those who ask
    if ((task.requests.load(std::memory_order_relaxed) & kAsked) == 0 &&
        index(task.id) > cancelled_up_to.load(std::memory_order_relaxed))
      return true;
    return settle(task);
  }
  /// Whoever has taken a task of the fast lane out of its queue: keeps others from taking or withdrawing it until
  /// `let_loose`. False where one of them has asked for it already.
  static bool hold(detail::TaskNode& task) noexcept {
    task.begun.store(1, std::memory_order_relaxed);
    light_fence();  // pairs with the heavy one of those who ask
    if ((task.requests.load(std::memory_order_relaxed) & kAsked) == 0) return true;
    let_loose(task);
    return false;
  }
  /// What somebody may have asked for that keeps a task in the fast lane from being run as a matter of course.
  static constexpr std::uint8_t kAsked =
      detail::TaskNode::kCancel | detail::TaskNode::kClaim | detail::TaskNode::kFailed;
  static void let_loose(detail::TaskNode& task) noexcept { task.begun.store(0, std::memory_order_relaxed); }
  /// Takes a task that lies in a queue of the fast lane, out of its turn, to run it; false where somebody else has it.
  bool take_out_of_queue(detail::TaskNode& task);
  /// Queues a task of the fast lane that is ready, unless it must not run: then it is over.
  void queue_ready(ThreadContext& here, detail::TaskNode& task);
  /// Whether a task that was taken so must not run; it is over then.
  bool refuse_taken(detail::TaskNode& task);
  /// A task in the fast lane has run without failing. Returns a successor that the calling worker may run at once
  /// (its hold on it is the engine's), or null.
  detail::TaskNode* finished_fast(ThreadContext& here, detail::TaskNode& task);
  /// Claims a task that the policy holds, out of its turn, for a worker that needs it done; false where it holds it no
  /// longer or not yet, or the device cannot run it.
  bool take_out_of_turn(detail::TaskNode& task, DeviceId device, std::uint32_t worker_in_device);
  /// Whether the policy holds a task for this device that goes before those of the fast lane: with a priority above 0.
  bool holds_urgent(DeviceId device) const noexcept {
    return urgent_[index(device)].load(std::memory_order_relaxed) != 0;
  }
  bool policy_holds_tasks() const noexcept { return held_by_policy_.load(std::memory_order_seq_cst) != 0; }
  /// A task that the policy holds for a worker (numbered within its device), claimed; null where there is none.
  detail::TaskRef take(DeviceId device, std::uint32_t worker);
  /// Takes a task of the placed lane that is ready to run it; false where somebody else has.
  static bool claim(detail::TaskNode& task) noexcept;
  /// Whether a claimed task must not run: something that it needs failed, or it was cancelled. It is over then.
  /// `begins`: it is about to run, so that this is the last word.
  bool refuse(detail::TaskNode& task, bool begins = false);
  /// Binds a claimed task to a device and asks for its operands.
  Placing place(detail::TaskNode& task, DeviceId device);
  /// Tries again to place the tasks that found no room on a node; returns how many of them are over instead.
  std::uint32_t retry_without_room(MemoryNodeId node);
  /// A host access has its data: the program goes on. Takes no lock of the rules or the memory manager.
  void grant(detail::TaskNode& task);
  /// Whether the copies that a task waited for have failed; it is over then.
  bool fail_without_operands(detail::TaskNode& task);
  /// Notes that a task begins on a worker.
  static void running(detail::TaskNode& task, std::uint32_t worker);
  /// The arguments of a placed task, in order of the parameters. They live as long as the task.
  static std::vector<Argument> arguments(detail::TaskNode& task);
  /// The task has run, on a worker (numbered within its device). Releases its successors. Returns one of the fast lane
  /// that the calling CPU worker may run at once when `may_continue`, or null.
  detail::TaskNode* finished(detail::TaskNode& task, const Outcome& outcome, std::uint32_t worker,
                             bool may_continue);
  /// Ends a task that does not run: a host access, a marker, or one that is refused.
  void end(detail::TaskNode& task, TaskState state, std::exception_ptr error);

  // ---- light runs of graphs (see light_run.cpp) ----------------------------------------------------------------

  void light_failed(detail::GraphRun& run, detail::TaskNode& recorded, const std::exception_ptr& cause,
                    std::uint32_t worker);
  void light_cancelled(detail::GraphRun& run);
  void light_run_over(detail::GraphRun& run);
  /// The task that a node has stood for is over.
  static void retire_stand_in(detail::TaskNode& node);

  /// Withdraws a task that nobody has taken; false where it is too late.
  bool cancel(detail::TaskNode& task);

  // ---- estimates ---------------------------------------------------------------------------------------------

  struct Estimate {
    Seconds execution{};
    bool measured = false;
  };
  Estimate estimate(detail::TaskNode& task, const DeviceInfo& device) const;
  /// What the codelet says of its work; zero where it says nothing.
  static Work work_of(detail::TaskNode& task);
  Explanation explain(detail::TaskNode& task);

  // ---- counts ------------------------------------------------------------------------------------------------

  /// Tasks and graph runs that are not over. Host accesses do not count: `wait` does not wait for them. Never less than
  /// the truth of the moment when the call began; zero means that there was a moment without any.
  std::int64_t outstanding() const noexcept {
    const std::int64_t finished = contexts_.sum(&ThreadContext::finished);  // first: it only grows
    return contexts_.sum(&ThreadContext::submitted) - finished;
  }
  /// Submissions under way and tasks that are ready or running: zero means that nothing happens by itself.
  std::int64_t active() const noexcept {
    const std::int64_t ended = contexts_.sum(&ThreadContext::deactivated);
    return contexts_.sum(&ThreadContext::activated) - ended;
  }
  /// Every task with a number up to this one is withdrawn unless it has begun (`Runtime::cancel`).
  std::atomic<std::uint64_t> cancelled_up_to{0};

  /// The failures that nobody has been told of, oldest first; takes them. `parent`: only those of the tasks that
  /// this one has submitted.
  std::vector<detail::TaskRef> take_failures(const detail::TaskNode* parent = nullptr);

  std::string_view policy_name() const noexcept { return policy_name_; }
  memory::Manager& memory() noexcept { return memory_; }
  ThreadContexts& contexts() noexcept { return contexts_; }
  /// The one CPU device whose tasks take the fast lane; none where there is no such device.
  std::optional<DeviceId> fast_device() const noexcept { return fast_device_; }

 private:
  WorkerId worker_of(const detail::TaskNode& task) const noexcept;
  bool withdrawn(const detail::TaskNode& task) const noexcept;
  bool settle(detail::TaskNode& task);
  bool takes_fast_lane(const detail::TaskNode& task) const noexcept;
  void become_ready(ThreadContext& here, detail::TaskNode& task, detail::TaskNode** continuation);
  void enter_placed_lane(detail::TaskNode& task);
  /// A predecessor is over, without failure. True where it was the last one.
  static bool release_one(detail::TaskNode& successor) noexcept {
    if (successor.pending.load(std::memory_order_acquire) == 1) {  // nobody else can change it
      successor.pending.store(0, std::memory_order_relaxed);
      return true;
    }
    return successor.pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void grant_host_access(detail::TaskNode& task);
  void push_to_policy(detail::TaskNode& task);
  void close(ThreadContext& here, Closing&& closing, detail::TaskNode** continuation);
  class LateClosing;
  void close_all(ThreadContext& here, detail::TaskNode** continuation);
  void close_one(ThreadContext& here, Closing&& closing, detail::TaskNode** continuation);
  bool cancel_placed(detail::TaskNode& task, TaskState state);
  void after_close(ThreadContext& here, detail::TaskNode& task);
  void let_go(ThreadContext& here, detail::TaskNode& task) noexcept;
  void count_urgent(const detail::TaskNode& task, bool more) noexcept;
  detail::TaskNode* keep_failure(detail::TaskNode& task, detail::GraphRun* run, std::exception_ptr error);
  std::optional<Placing> acquire(detail::TaskNode& task, const DeviceInfo& device);
  void destroy_captures(detail::TaskNode& task) noexcept;
  std::exception_ptr describe_failure(detail::TaskNode& task, const std::exception_ptr& cause) const;
  static std::uint64_t key_of(const detail::TaskNode& task) noexcept;
  static std::uint64_t footprint(detail::TaskNode& task) noexcept;
  static Work work_with_traffic(detail::TaskNode& task);

  const platform::Machine& machine_;
  memory::Manager& memory_;
  trace::Recorder& recorder_;
  ThreadContexts& contexts_;
  Driver& driver_;
  std::optional<DeviceId> fast_device_;
  cost::HistoryModel history_;
  DeviceInfo host_;  ///< Stands for the program itself, where it accesses data.

  std::vector<std::uint32_t> first_worker_;  ///< By device: the number of its first worker among all.

  std::mutex policy_mutex_;  ///< Serialises the policy and guards the members below.
  std::unique_ptr<Policy> policy_;
  std::string policy_name_;
  /// By device: tasks with a priority above 0 that the policy holds and that it can run. Changed under the lock.
  std::array<std::atomic<std::uint32_t>, 64> urgent_{};
  std::atomic<std::uint64_t> held_by_policy_{0};  ///< Lets idle workers skip the lock when there is nothing.

  std::mutex room_mutex_;                                   ///< Guards `without_room_`.
  std::vector<std::vector<detail::TaskRef>> without_room_;  ///< By memory node.

  std::mutex failure_mutex_;  ///< Guards `failures_` and the explanations of tasks.
  std::vector<detail::TaskRef> failures_;
};

}  // namespace hocket::engine
