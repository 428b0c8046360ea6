// SPDX-License-Identifier: Apache-2.0
/// A recorded graph: what was submitted, and the dependencies in compressed sparse rows. Running it needs no
/// inference: counters are reset, and the arrows are those arrays.
///
/// Recording is for one thread at a time; once sealed, all but `prepare_run` and `over` only read.
#pragma once

#include <atomic>
#include <cstdint>
#include <hocket/graph.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/box_map.hpp"
#include "graph/datum.hpp"
#include "graph/task_node.hpp"

namespace hocket::detail {

/// One execution of a graph; its nodes are used again by a later one. `nodes` holds the recorded tasks and, behind
/// them, the node that starts them: it waits for the earlier accesses to the graph's data. `end` follows all of
/// them: it is what later accesses wait for, and the handle that the user gets.
struct GraphRun {
  std::unique_ptr<TaskNode[]> nodes;
  TaskNode* start = nullptr;
  TaskRef end;
  /// Nodes, `end` included, that the engine still touches: each counts until the last reference to it, but for the
  /// run's own, is gone, and `end` until it is over. See `RecordedGraph::leave`.
  std::atomic<std::size_t> unfinished{0};
  bool busy = false;                           ///< Guarded by the graph's lock.
  std::shared_ptr<RecordedGraph> keeps_alive;  ///< While busy.
};

class RecordedGraph : public std::enable_shared_from_this<RecordedGraph> {
 public:
  explicit RecordedGraph(Engine& engine) : engine_(&engine) {}
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  /// Adds a described task and infers what it depends on. `problem`: why no device can run it; empty where one can.
  /// Throws `InvalidArgument` once sealed, and for an `after` that is no task of this graph.
  Task add(const TaskRef& task, std::string problem, const std::vector<Task>& after);
  /// Makes the arrays; no task can be added from now on. Idempotent, thread-safe.
  void seal();

  std::size_t size() const noexcept { return tasks_.size(); }
  TaskNode& task(std::size_t index) const noexcept { return *tasks_[index]; }
  /// Why no device can run a task; empty where one can.
  const std::string& problem(std::size_t index) const noexcept { return problems_[index]; }
  Engine& engine() const noexcept { return *engine_; }

  struct Arrow {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    bool value = false;
    double bytes = 0.0;  ///< Of what `from` makes and `to` reads; 0 where only the order matters.
  };
  const std::vector<Arrow>& arrows() const noexcept { return arrows_; }

  /// The graph's accesses as if it were one task, for each part of its data. Made by `seal`.
  const std::vector<Operand>& footprint() const noexcept { return footprint_; }

  /// A run that is not busy, reset: every counter at its in-degree. It is busy until `over`.
  GraphRun& prepare_run(TaskRef end);
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
  std::unique_ptr<GraphRun> make_run() const;

  Engine* engine_;
  std::vector<TaskRef> tasks_;
  std::vector<std::string> problems_;
  std::vector<Arrow> arrows_;  ///< In order of `to`; at most one for each pair.
  std::map<Datum*, graph::BoxMap<RecordedState>> accesses_;
  std::vector<Operand> footprint_;

  std::mutex mutex_;  ///< Guards the making of the arrays, and `runs_`.
  bool sealed_ = false;
  std::vector<std::uint32_t> first_successor_;  ///< By node, the starting one included, plus one: offsets.
  std::vector<std::uint32_t> successors_;       ///< See `StaticSuccessors`.
  std::vector<std::uint32_t> in_degree_;        ///< By node; last, of the end.
  std::vector<std::unique_ptr<GraphRun>> runs_;
};

}  // namespace hocket::detail
