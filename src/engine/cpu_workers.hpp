// SPDX-License-Identifier: Apache-2.0
/// The threads that run tasks of devices which compute on the calling thread (CPU cores): one slot for each worker
/// with its queue, and a thread in it. A thread that must wait inside a task lends its slot to a spare thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/event_count.hpp"
#include "engine/lifecycle.hpp"
#include "engine/ready_queue.hpp"

namespace hocket::engine {

class CpuWorkers {
 public:
  /// `check`: verify that kernels leave alone what they declared read-only.
  CpuWorkers(const platform::Machine& machine, Lifecycle& lifecycle, Driver& driver, bool check);
  CpuWorkers(const CpuWorkers&) = delete;
  CpuWorkers& operator=(const CpuWorkers&) = delete;
  ~CpuWorkers();

  void start();
  /// Lets the threads end once they find nothing to do. Called when nothing is left to run.
  void stop();

  /// A ready task for any worker of its device, from any thread.
  void queue(detail::TaskNode& task);
  /// A placed task whose operands have come, for any worker of its device.
  void queue_present(detail::TaskNode& task);
  /// There may be something to take from the policy.
  void wake();

  /// The slot of the calling thread, if it is a worker.
  struct Slot;
  static Slot* current_slot() noexcept;
  /// The task that the calling thread runs, if any.
  static detail::TaskNode* current_task() noexcept;
  std::optional<WorkerId> current_worker() const noexcept;

  /// Runs a task that is ready on the calling worker, inside the task that it already runs, if it can take it now: out
  /// of the fast lane, from the policy, or from among those whose operands have come.
  bool try_run_inside(detail::TaskNode& task);

  /// Called by a thread that is about to wait inside a task: another thread takes its slot. `resume` takes it back.
  void lend_slot();
  void resume();

 private:
  void thread_main(Slot* slot);
  void work(Slot& slot);
  /// Wakes a worker for a task of one device.
  void wake_one();
  detail::TaskRef find_work(Slot& slot);
  detail::TaskRef take_from_policy(Slot& slot);
  void run_chain(Slot& slot, detail::TaskRef task);
  detail::TaskRef run_one(Slot& slot, detail::TaskNode& task, bool may_continue);
  void spare_main();

  const platform::Machine& machine_;
  Lifecycle& lifecycle_;
  Driver& driver_;
  const bool check_;

  std::vector<std::unique_ptr<Slot>> slots_;
  bool one_device_ = true;  ///< Whether all slots are of one device: then any worker will do.
  EventCount events_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> loading_{0};  ///< Tasks placed on CPU devices whose operands are still to come.

  std::mutex spare_mutex_;  ///< Guards the members below.
  std::condition_variable spare_wakeup_;
  struct Lent {
    Slot* slot;
    std::uint64_t tenancy;
  };
  std::vector<Lent> lent_;  ///< Slots that wait for a spare thread.
  std::uint32_t idle_spares_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace hocket::engine
