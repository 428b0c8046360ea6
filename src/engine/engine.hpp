// SPDX-License-Identifier: Apache-2.0
/// The engine of one runtime on the wall clock: owns the machine, the memory manager, the rules and the threads, and
/// connects them. The public classes are thin covers over it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <hocket/runtime.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/access_rights.hpp"
#include "engine/codelets.hpp"
#include "engine/cpu_workers.hpp"
#include "engine/device_driver.hpp"
#include "engine/lifecycle.hpp"
#include "graph/datum.hpp"
#include "graph/recorded_graph.hpp"
#include "memory/manager.hpp"
#include "platform/machine.hpp"
#include "trace/recorder.hpp"

namespace hocket::detail {

/// Records a task of a graph; see `Graph::submit_packed`.
Task record_task(RecordedGraph& graph, const Submission& submission);

class Engine final : public engine::Driver, public memory::TransferSink {
 public:
  explicit Engine(const RuntimeOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  // ---- data (data_access.cpp) ---------------------------------------------------------------------------------
  DataHandle make_data(DatumDescription description);
  /// `report`: whether a failure that it throws counts as told to the user.
  HostAccessGrant begin_host_access(const DataHandle& handle, Access access, bool report = true);
  void end_host_access(TaskNode& task) noexcept;
  /// The last handle of borrowed data is gone: brings the contents back to the user's memory.
  void give_back(Datum& datum) noexcept;

  // ---- submission (submission.cpp) ------------------------------------------------------------------------------
  Task submit(const Submission& submission);
  /// Fills a node from a submission: checks the arguments, copies scalars, refers to data. Throws
  /// `InvalidArgument`, `NoEligibleDevice`, `OutOfMemory`.
  void describe(engine::ThreadContext& here, TaskNode& task, const Submission& submission);

  // ---- graphs (graph_run.cpp) -----------------------------------------------------------------------------------
  Task run(RecordedGraph& graph, const Plan* plan);
  void check_plan(const RecordedGraph& graph, const Plan& plan) const;
  Plan plan(const RecordedGraph& graph, std::string_view planner);

  // ---- waiting (waiting.cpp) --------------------------------------------------------------------------------------
  void wait_all();
  /// Returns whether the task is over (`limit` absent: it is).
  bool wait_for(TaskNode& task, std::optional<Seconds> limit);
  /// Throws what a wait for a task that is over ends with. The task may have outlived its engine.
  static void throw_failure(TaskNode& task);
  void cancel_all();
  bool cancel(TaskNode& task);

  const platform::Machine& machine() const noexcept { return machine_; }
  engine::Lifecycle& lifecycle() noexcept { return lifecycle_; }
  trace::Recorder& recorder() noexcept { return recorder_; }
  memory::Manager& memory() noexcept { return memory_; }
  const std::shared_ptr<RunTable>& runs() const noexcept { return runs_; }
  engine::ThreadContexts& contexts() noexcept { return *contexts_; }
  engine::AccessRights& access_rights() noexcept { return access_rights_; }
  Report report();
  void reset_report();
  /// Lets a datum end with the last task that uses it.
  void retire(Datum& datum);
  /// Never one that `cancel_all` has withdrawn.
  TaskId next_id(engine::ThreadContext& here) noexcept {
    if (here.next_id > here.last_id ||
        here.next_id <= lifecycle_.cancelled_up_to.load(std::memory_order_relaxed))
      reserve_ids(here);
    return TaskId{here.next_id++};
  }
  void reserve_ids(engine::ThreadContext& here) noexcept;

  // ---- Driver -----------------------------------------------------------------------------------------------------
  Seconds now() const override;
  void queue_fast(engine::ThreadContext& here, TaskNode& task) override;
  void queue_present(TaskNode& task) override;
  void wake(std::uint64_t devices) override;
  std::optional<WorkerId> current_worker() const override;
  void announce(TaskNode& task) override;
  void announce_if_idle() override;
  void marker_ready(TaskNode& task, bool withdrawn) override;

  // ---- TransferSink -------------------------------------------------------------------------------------------------
  void start(memory::Transfer& transfer) override;
  void operands_present(TaskNode& task) override { queue_present(task); }
  void room_made(MemoryNodeId node) override;

 private:
  struct Settings;
  static Settings resolve(const RuntimeOptions& options);
  Engine(const RuntimeOptions& options, Settings&& settings);

  const TaskType* plain_type(engine::ThreadContext& here, const Submission& submission);
  void describe_plain(engine::ThreadContext& here, TaskNode& task, const TaskType& type,
                      const Submission& submission, DataAccess* accesses);
  void abandon(GraphRun& run) noexcept;
  void abandon_host_access(TaskNode& task) noexcept;
  void check_region(const TaskNode& task, std::span<const PackedArgument> arguments, std::size_t i) const;
  void check_overlap(const TaskNode& task, const TaskType& type, std::span<const PackedArgument> arguments,
                     std::size_t i) const;
  void check_after(const TaskNode& task, std::span<const Task> after) const;
  /// Hands a described task over to the rules. `counts`: whether `wait_all` waits for it.
  void submit_node(engine::ThreadContext& here, TaskNode& task, std::span<const DataAccess> operands,
                   std::span<const Task> after, bool counts);
  TaskNode* current_task(engine::ThreadContext& here) {
    if (here.task != nullptr || here.light_task.run == nullptr) return here.task;
    return make_stand_in(here);
  }
  void submit_described(engine::ThreadContext& here, TaskNode& task, std::span<const Task> after);
  TaskNode* make_stand_in(engine::ThreadContext& here);
  static void adopt_by_current_task(engine::ThreadContext& here, TaskNode& task);
  void hold_back(engine::ThreadContext& here);
  /// Waits until `done` holds, which `announce` or `announce_if_idle` follow. Outside of tasks, runs tasks meanwhile
  /// where a slot is vacant; inside a task, works towards `target` or lends the worker's slot. False: the time is over.
  /// Throws `Error` where nothing can happen any more.
  bool sleep_until(const std::function<bool()>& done, TaskNode* target, std::optional<Seconds> limit);
  enum class Sleep : std::uint8_t { Reached, Late, Hopeless };
  Sleep sleep(const std::function<bool()>& done, TaskNode* target, std::optional<Seconds> deadline,
              bool in_task, bool on_worker);
  bool work_until(engine::ThreadContext& here, const std::function<bool()>& done, TaskNode* target);
  bool work_towards(TaskNode& target);
  bool spin_until(const std::function<bool()>& done) const;
  bool stuck();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool keep_explanations_;
  const bool lean_;            ///< Nobody wants to know of single tasks: no trace, no check.
  const std::int64_t window_;  ///< Tasks in flight from which on submitting threads are held back; 0: none.
  platform::Machine machine_;
  trace::Recorder recorder_;
  memory::Manager memory_;
  std::shared_ptr<engine::Codelets> codelets_;
  struct RetirePool {
    void operator()(graph::BlockPool* pool) const noexcept { pool->retire(); }
  };
  std::unique_ptr<graph::BlockPool, RetirePool>
      pool_;  ///< What it holds outlives the engine while there are handles.
  std::shared_ptr<engine::ThreadContexts> contexts_;
  engine::AccessRights access_rights_;
  std::shared_ptr<RunTable> runs_ = std::make_shared<RunTable>();
  engine::Lifecycle lifecycle_;
  engine::CpuWorkers cpu_workers_;
  std::vector<std::unique_ptr<engine::DeviceDriver>> drivers_;  ///< By device; null for CPU devices.
  std::mutex host_copier_mutex_;                                ///< Guards the making of `host_copier_`.
  std::unique_ptr<engine::DeviceDriver> host_copier_;           ///< Made at the first copy within the host.

  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::uint64_t> next_datum_{1};

  std::mutex wait_mutex_;  ///< With `wait_changed_`: announcements to threads that wait for tasks.
  std::condition_variable wait_changed_;
  std::atomic<std::uint32_t> idle_waiters_{0};

  std::mutex host_access_mutex_;  ///< Guards the next two.
  std::unordered_map<std::thread::id, std::uint32_t> host_accesses_;
  std::uint32_t host_accesses_held_ = 0;

  std::mutex report_mutex_;  ///< Guards the next.
  struct Baseline {
    std::int64_t executed = 0;
    double flops = 0.0;
    double busy_seconds = 0.0;
  };
  std::vector<Baseline> baselines_;  ///< By context: its totals when the report was last reset.
};

}  // namespace hocket::detail
