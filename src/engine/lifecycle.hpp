// SPDX-License-Identifier: Apache-2.0
/// The rules of a task's life, in the order in which they apply: submitted, ready, placed, operands present,
/// running, done, successors released. Written once: whoever drives the engine (worker and device threads on
/// the wall clock, or one loop on a virtual clock) calls these functions with the time and does what they ask
/// of it through `Driver`. No rule knows of threads, and no driver holds a rule.
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
  virtual void queue_fast(detail::TaskNode& task) = 0;
  /// A task's operands have arrived on its device: a worker of it is to run it; or, for a host access,
  /// `Lifecycle::grant` is due. May be called with the memory manager's lock held.
  virtual void queue_present(detail::TaskNode& task) = 0;
  /// The policy has something for some of these devices (a bit set).
  virtual void wake(std::uint64_t devices) = 0;
  /// The worker that this thread is, for locality; none for threads of the user.
  virtual std::optional<WorkerId> current_worker() const = 0;
  /// A task is over, or a host access has been granted: threads that wait for it are to look.
  virtual void announce(detail::TaskNode& task) = 0;
  /// The number of unfinished tasks has reached zero.
  virtual void announce_idle() = 0;
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
            trace::Recorder& recorder, Driver& driver);

  // ---- eligibility -------------------------------------------------------------------------------------------

  /// Sets `task.eligible` to the devices that can run it: those that `on` admits, for which its codelet has a
  /// variant whose formats its data can take, and whose memory holds its operands. Throws `NoEligibleDevice` or
  /// `OutOfMemory` with the reasons where there is none.
  void find_eligible(detail::TaskNode& task, std::uint64_t admitted);
  /// Why a device is not eligible for a task; empty where it is.
  std::string why_not(const detail::TaskNode& task, const DeviceInfo& device);
  /// The variant for a device, or null.
  static const Variant* variant_for(const detail::CodeletCore& codelet, const DeviceInfo& device) noexcept;
  /// The format in which a task's operands are wanted on a device, one for each operand.
  std::vector<Format> formats_for(const detail::TaskNode& task, const DeviceInfo& device) const;

  // ---- the life ----------------------------------------------------------------------------------------------

  /// The task has been linked to its predecessors; it becomes ready if they are all over.
  void submitted(detail::TaskNode& task);
  /// Claims a task that the policy holds, out of its turn, for a worker that needs it done; false where it holds it no
  /// longer or not yet, or the device cannot run it.
  bool take_out_of_turn(detail::TaskNode& task, DeviceId device, std::uint32_t worker_in_device);
  /// Whether the policy holds a task for this device that goes before those of the fast lane: with a priority above 0.
  bool holds_urgent(DeviceId device) const noexcept {
    return urgent_[index(device)].load(std::memory_order_relaxed) != 0;
  }
  /// A task that the policy holds for a worker (numbered within its device), claimed; null where there is none.
  detail::TaskRef take(DeviceId device, std::uint32_t worker);
  /// Takes a task that is ready to run it; false where somebody else has.
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
  void running(detail::TaskNode& task, std::uint32_t worker, Seconds now);
  /// The arguments of a placed task, in order of the parameters. They live as long as the task.
  static std::vector<Argument> arguments(const detail::TaskNode& task);
  /// The task has run. Releases its successors. Returns one that the calling CPU worker may run at once, claimed
  /// for it, when `may_continue`.
  detail::TaskRef finished(detail::TaskNode& task, const Outcome& outcome, bool may_continue);
  /// Ends a task that does not run: a host access, a marker, or one that is refused.
  void end(detail::TaskNode& task, TaskState state, std::exception_ptr error);

  /// Withdraws a task that nobody has taken; false where it is too late.
  bool cancel(detail::TaskNode& task);

  // ---- estimates ---------------------------------------------------------------------------------------------

  struct Estimate {
    Seconds execution{};
    bool measured = false;
  };
  Estimate estimate(const detail::TaskNode& task, const DeviceInfo& device) const;
  Work work_of(const detail::TaskNode& task) const;
  Explanation explain(detail::TaskNode& task);

  // ---- counts ------------------------------------------------------------------------------------------------

  /// Tasks and graph runs that are not over. Host accesses do not count: `wait` does not wait for them.
  std::atomic<std::uint64_t> outstanding{0};
  /// Submissions under way and tasks that are ready or running: zero means that nothing happens by itself.
  std::atomic<std::uint64_t> active{0};
  /// Every task with a number up to this one is withdrawn unless it has begun (`Runtime::cancel`).
  std::atomic<std::uint64_t> cancelled_up_to{0};

  /// The failures that nobody has been told of, oldest first; takes them. `parent`: only those of the tasks that
  /// this one has submitted.
  std::vector<detail::TaskRef> take_failures(const detail::TaskNode* parent = nullptr);

  std::string_view policy_name() const noexcept { return policy_name_; }
  memory::Manager& memory() noexcept { return memory_; }

 private:
  /// Tasks that are over and whose successors are still to be released: a loop rather than recursion, since a
  /// failure may cancel chains of any length.
  struct Closing {
    detail::TaskRef task;
    TaskState state = TaskState::Done;
    std::exception_ptr error;
  };
  using Closings = std::vector<Closing>;

  WorkerId worker_of(const detail::TaskNode& task) const noexcept;
  bool withdrawn(const detail::TaskNode& task) const noexcept;
  static bool takes_fast_lane(const detail::TaskNode& task) noexcept;
  void become_ready(detail::TaskNode& task, Closings& closings, detail::TaskRef* continuation);
  void grant_host_access(detail::TaskNode& task);
  void push_to_policy(detail::TaskNode& task);
  void close_all(Closings& closings, detail::TaskRef* continuation);
  void close(Closing&& closing, Closings& closings, detail::TaskRef* continuation);
  void count_urgent(const detail::TaskNode& task, bool more) noexcept;
  detail::TaskNode* keep_failure(detail::TaskNode& task, std::exception_ptr error);
  std::optional<Placing> acquire(detail::TaskNode& task, const DeviceInfo& device);
  std::exception_ptr describe_failure(detail::TaskNode& task, const std::exception_ptr& cause) const;
  std::uint64_t footprint(const detail::TaskNode& task) const noexcept;

  const platform::Machine& machine_;
  memory::Manager& memory_;
  trace::Recorder& recorder_;
  Driver& driver_;
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
