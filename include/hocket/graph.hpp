// SPDX-License-Identifier: Apache-2.0
/// Recorded graphs: the same calls as on a `Runtime`, kept instead of run. A graph can be checked, planned ahead
/// and run any number of times. It is bound to the runtime that recorded it and to its data.
#pragma once

#include <cstddef>
#include <hocket/problem.hpp>
#include <hocket/submit.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

namespace detail {
class RecordedGraph;
}

/// Something about a graph that its author should know.
struct GraphDiagnostic {
  enum class Severity { Error, Warning };
  Severity severity = Severity::Error;
  std::string message;  ///< Names the task, the data and what to do.
};

/// A recorded graph. Copies name the same graph. Recording into one graph is for one thread at a time; running
/// it is for any. Obtained from `Runtime::record`.
///
/// A graph is no handle to its data. What the runtime owns lives as long as the graph; borrowed memory, and a handle to
/// it, must be there until the last run is over.
class Graph final : public Submitter {
 public:
  explicit Graph(std::shared_ptr<detail::RecordedGraph> core) noexcept : core_(std::move(core)) {}

  /// Records a task; see `Submitter`. The result can be used in `TaskOptions::after` of later tasks of this graph
  /// only. Throws `InvalidArgument` once the graph has been run or planned.
  Task submit_packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions&& options,
                     std::span<const detail::PackedArgument> arguments) override;

  /// Number of recorded tasks.
  std::size_t size() const noexcept;
  /// Number of dependencies between them.
  std::size_t dependencies() const noexcept;
  /// What would go wrong: tasks that no device of the runtime can run, data read before anything in the graph or
  /// before it has written it, operands that fit no device. Warns of results that a later task of the graph writes over
  /// before anything reads them; those that are still there at its end may be read by whatever follows.
  std::vector<GraphDiagnostic> validate() const;
  /// The graph in Graphviz DOT form.
  std::string dot() const;

  const std::shared_ptr<detail::RecordedGraph>& core() const noexcept { return core_; }

 private:
  Task submit_one(const detail::Submission& submission) override;

  std::shared_ptr<detail::RecordedGraph> core_;
};

/// Where and in which order a planner wants the tasks of a graph to run. Made by `Runtime::plan`.
struct Plan {
  std::string planner;
  Problem problem;    ///< What the planner was given.
  Schedule schedule;  ///< Validated against `problem`. Device indices are those of `Runtime::devices()`.
  /// The graph that it is for. Empty: any graph of as many tasks, each of which can run where the schedule says.
  std::weak_ptr<const detail::RecordedGraph> graph;
};

}  // namespace hocket
