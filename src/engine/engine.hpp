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
Task record_task(RecordedGraph& graph, const std::shared_ptr<const CodeletCore>& codelet,
                 TaskOptions&& options, std::span<const PackedArgument> arguments);

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

  // ---- submission (engine.cpp) ----------------------------------------------------------------------------------
  Task submit(const std::shared_ptr<const CodeletCore>& codelet, TaskOptions&& options,
              std::span<const PackedArgument> arguments);
  /// Fills a node from the arguments of a submission: checks them, copies scalars, refers to data. Throws
  /// `InvalidArgument`.
  void describe(TaskNode& task, const std::shared_ptr<const CodeletCore>& codelet, const TaskOptions& options,
                std::span<const PackedArgument> arguments);

  // ---- graphs (graph_run.cpp) -----------------------------------------------------------------------------------
  Task run(RecordedGraph& graph, const Plan* plan);
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
  TaskId next_id() noexcept { return TaskId{next_id_.fetch_add(1, std::memory_order_relaxed)}; }

  // ---- Driver -----------------------------------------------------------------------------------------------------
  Seconds now() const override;
  void queue_fast(TaskNode& task) override;
  void queue_present(TaskNode& task) override;
  void wake(std::uint64_t devices) override;
  std::optional<WorkerId> current_worker() const override;
  void announce(TaskNode& task) override;
  void announce_idle() override;

  // ---- TransferSink -------------------------------------------------------------------------------------------------
  void start(memory::Transfer& transfer) override;
  void operands_present(TaskNode& task) override { queue_present(task); }
  void room_made(MemoryNodeId node) override;

 private:
  struct Settings;
  static Settings resolve(const RuntimeOptions& options);
  Engine(const RuntimeOptions& options, Settings&& settings);

  void abandon(GraphRun& run) noexcept;
  void abandon_host_access(TaskNode& task) noexcept;
  void submit_node(TaskNode& task, std::uint64_t admitted, std::span<const Task> after);
  /// Sleeps until `done` holds, which `announce` or `announce_idle` follow. Inside a task, works towards `target` or
  /// lends the worker's slot. False: the time is over. Throws `Error` where nothing can happen any more.
  bool sleep_until(const std::function<bool()>& done, TaskNode* target, std::optional<Seconds> limit);
  bool work_towards(TaskNode& target);
  bool stuck();

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool keep_explanations_;
  platform::Machine machine_;
  trace::Recorder recorder_;
  memory::Manager memory_;
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
  std::atomic<std::uint32_t> blocked_tasks_{
      0};  ///< Tasks that wait for others: active, but not by themselves.

  std::mutex host_access_mutex_;  ///< Guards the next two.
  std::unordered_map<std::thread::id, std::uint32_t> host_accesses_;
  std::uint32_t host_accesses_held_ = 0;

  std::mutex report_mutex_;
};

}  // namespace hocket::detail
