// SPDX-License-Identifier: Apache-2.0
/// A recorded graph: what was submitted, and the dependencies in compressed sparse rows. Running it needs no
/// inference: counters are reset, and the arrows are those arrays.
///
/// Recording is for one thread at a time; once sealed, all but `prepare_run` and `over` only read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <hocket/graph.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/box_map.hpp"
#include "graph/datum.hpp"
#include "graph/task_node.hpp"

namespace hocket::detail {

class RecordedGraph;

/// One execution of a graph; its memory is used again by a later one. `end` follows all tasks: it is what later accesses
/// wait for, and the handle that the user gets. `start` waits for the earlier accesses to the graph's data.
///
/// Where no task needs a decision (see `RecordedGraph::light`), the run is light: a task is its number, and all that the
/// run keeps of it is a counter. Else every task has a node.
struct GraphRun {
  explicit GraphRun(RecordedGraph& owner) : graph(owner) {}
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;
  ~GraphRun();

  RecordedGraph& graph;
  TaskNode* start = nullptr;  ///< Held by the engine.
  TaskRef end;
  TaskId id{};
  /// Nodes, `end` included, that the engine still touches: each counts until the last reference to it, but for the
  /// run's own, is gone, and `end` until it is over. See `RecordedGraph::leave`.
  std::atomic<std::size_t> unfinished{0};
  bool busy = false;                           ///< Guarded by the graph's lock.
  std::shared_ptr<RecordedGraph> keeps_alive;  ///< While busy.

  // Where every task has a node.
  bool planned = false;          ///< The nodes were made when the run was submitted.
  std::vector<TaskNode*> nodes;  ///< Made by `RecordedGraph::make_nodes`.

  // Light runs.
  std::uint32_t number = 0;  ///< In the table of runs.
  /// By task: predecessors that are not over. Changed through `std::atomic_ref`, reset by a copy.
  std::unique_ptr<std::uint32_t[]> counters;
  alignas(128) std::atomic<std::uint32_t> next_root{0};
  alignas(128) std::atomic<std::int64_t> remaining{
      0};  ///< Tasks that are not over, and the token (see engine/light_run).
  /// By task: whether it must not run, since something that it needs failed. Null until something fails.
  std::atomic<std::atomic<bool>*> spoilt{nullptr};
  std::unique_ptr<std::atomic<bool>[]> spoilt_memory;
};

/// The light runs of an engine by number: queues hold numbers.
class RunTable {
 public:
  static constexpr std::uint32_t kMost = 4096;

  GraphRun& operator[](std::uint32_t number) const noexcept {
    return *runs_[number].load(std::memory_order_acquire);
  }
  /// Nothing where the table is full.
  std::optional<std::uint32_t> add(GraphRun& run);
  void remove(std::uint32_t number);

  /// Whose runs these are; null once it is gone.
  std::atomic<Engine*> engine{nullptr};

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> unused_;
  std::uint32_t used_ = 0;
  std::array<std::atomic<GraphRun*>, kMost> runs_{};
};

/// What a light run needs to know of a task.
struct LightTask {
  static constexpr std::uint64_t kMostArguments = (std::uint64_t{1} << 31) - 1;  ///< Of all tasks of a graph.

  const TaskType* type = nullptr;
  /// In `RecordedGraph::light_arguments`; of a one-off kernel, the kernel first.
  std::uint32_t first_argument : 31 = 0;
  std::uint32_t has_work : 1 = 0;     ///< Whether its codelet says how much it works.
  std::uint32_t first_successor = 0;  ///< In `RecordedGraph::successors`; ends where the next task's begin.
};

class RecordedGraph : public std::enable_shared_from_this<RecordedGraph> {
 public:
  explicit RecordedGraph(std::shared_ptr<RunTable> table) : table_(std::move(table)) {}
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;
  ~RecordedGraph();

  /// Adds a described task and infers what it depends on. `problem`: why no device can run it; empty where one can.
  /// Throws `InvalidArgument` once sealed, and for an `after` that is no task of this graph.
  Task add(const TaskRef& task, std::string problem, const std::vector<Task>& after);
  /// Makes the arrays; no task can be added from now on. Idempotent, thread-safe.
  void seal();

  std::size_t size() const noexcept { return tasks_.size(); }
  std::size_t dependencies() const noexcept {
    const std::lock_guard lock(mutex_);
    return arrows_.size();
  }
  TaskNode& task(std::size_t index) const noexcept { return *tasks_[index]; }
  /// Why no device can run a task; empty where one can.
  std::string_view problem(std::size_t index) const {
    const auto found = problems_.find(static_cast<std::uint32_t>(index));
    return found == problems_.end() ? std::string_view() : std::string_view(found->second);
  }
  bool has_problems() const noexcept { return !problems_.empty(); }
  /// The engine while it lives, else null.
  Engine* engine() const noexcept { return table_->engine.load(std::memory_order_acquire); }

  struct Arrow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool value = false;
    double bytes = 0.0;  ///< Of what `from` makes and `to` reads; 0 where only the order matters.
  };
  /// Once sealed.
  const std::vector<Arrow>& arrows() const noexcept { return arrows_; }

  /// The graph's accesses as if it were one task, for each part of its data. Made by `seal`.
  const std::vector<DataAccess>& footprint() const noexcept { return footprint_; }

  /// A run that is not busy, for that end and start. It is busy until `over`.
  GraphRun& prepare_run(TaskRef end, TaskNode& start);
  /// Gives every task of the run a node, reset, and lets `start` be followed by the first of them.
  void make_nodes(GraphRun& run, graph::BlockCache& blocks);
  /// Whether runs may be light, as far as the graph goes: no task needs a decision.
  bool light() const noexcept { return light_; }
  /// Resets a run to be light. False where there are too many at once.
  bool make_light(GraphRun& run);
  const LightTask* light_tasks() const noexcept { return light_tasks_.data(); }
  const void* const* light_arguments() const noexcept { return light_arguments_.data(); }
  const std::uint32_t* successors() const noexcept { return successors_.data(); }
  const std::vector<std::uint32_t>& roots() const noexcept { return roots_; }
  static void over(GraphRun& run) noexcept;
  /// One node fewer is touched. The last one out ends the run: from then on its nodes may be used again or be gone.
  static void leave(GraphRun& run) noexcept {
    if (run.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) over(run);
  }

  std::vector<GraphDiagnostic> validate() const;
  std::string dot() const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct RecordedState {
    std::uint32_t writer = kNone;
    std::vector<std::uint32_t> readers;
    bool read_first = false;  ///< Read before the graph writes it: what was there before the run matters.
  };

  void infer(std::uint32_t task);
  void arrow(std::uint32_t from, std::uint32_t to, bool value, double bytes);
  void make_light_tasks();

  const std::shared_ptr<RunTable> table_;
  std::vector<TaskRef> tasks_;
  std::map<std::uint32_t, std::string> problems_;  ///< By task; only of those that have one.
  std::vector<Arrow> arrows_;                      ///< In order of `to`; at most one for each pair.
  std::map<Datum*, graph::BoxMap<RecordedState>> accesses_;
  std::vector<DataAccess> footprint_;

  mutable std::mutex mutex_;  ///< Guards the recording, the making of the arrays, and `runs_`.
  bool sealed_ = false;
  std::vector<std::uint32_t> first_successor_;  ///< By node, the starting one included, plus one: offsets.
  std::vector<std::uint32_t> successors_;       ///< See `StaticSuccessors`.
  std::vector<std::uint32_t> in_degree_;        ///< By node; last, of the end.
  std::vector<std::uint32_t> roots_;            ///< Tasks without predecessors.
  bool light_ = false;
  std::vector<LightTask> light_tasks_;  ///< One more than tasks: where the last one's successors end.
  std::vector<const void*> light_arguments_;
  std::vector<std::unique_ptr<GraphRun>> runs_;
};

}  // namespace hocket::detail
