// SPDX-License-Identifier: Apache-2.0
/// The scheduling problem as numbers only: what a planner sees of a task graph and a machine, the schedule it
/// answers with, and the independent check of that schedule.
///
/// A `Problem` knows no kernels, data or threads. A real program, a simulation and a graph out of a paper all
/// become the same arrays: a graph in compressed sparse rows, one cost per (task, device), bytes and fixed
/// seconds per edge, and a platform of devices, memory nodes and links. Tasks, devices, memory nodes and
/// edges are dense indices from 0.
///
/// Units: times in seconds, sizes in bytes, bandwidths in bytes per second, all as double.
///
/// Model:
///  - A device has one or more identical workers; a worker runs one task at a time, without preemption.
///  - A task of cost zero (a barrier, a dummy entry) takes no worker time: it may coincide with any other.
///  - An edge costs its fixed time when its two tasks run on different devices. When they run on different
///    memory nodes and it carries bytes, it costs latency + bytes / bandwidth of the link as well. Otherwise
///    it is free. Transfers overlap with computation and do not slow each other down.
///
/// Ownership: `Problem` owns its arrays; the spans it hands out live as long as it does.
/// Thread-safety: a built `Problem` is immutable and may be read from any thread; a `ProblemBuilder` is for
/// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// The cost of a task on a device that may not run it.
inline constexpr double kNotAllowed = std::numeric_limits<double>::infinity();

/// The transfer characteristics from one memory node to another.
struct ProblemLink {
  double latency_seconds = 0.0;
  double bandwidth_bytes_per_second = std::numeric_limits<double>::infinity();
};

/// A device as a planner sees it.
struct ProblemDevice {
  std::uint32_t workers = 1;
  std::uint32_t memory_node = 0;
};

/// What an edge of the graph carries.
struct ProblemEdge {
  double bytes = 0.0;
  double fixed_seconds = 0.0;
};

/// An acyclic task graph with costs, on a platform. Made by `ProblemBuilder`, which guarantees: the graph has
/// no cycle, each task has a device that may run it, costs are not negative, and each pair of memory nodes
/// that a transfer may have to cross has a link.
class Problem {
 public:
  std::size_t task_count() const { return first_successor_.size() - 1; }
  std::size_t device_count() const { return devices_.size(); }
  std::size_t edge_count() const { return edge_target_.size(); }
  std::size_t memory_node_count() const { return memory_node_count_; }

  /// The seconds that `task` takes on `device`, or `kNotAllowed`.
  double cost(std::size_t task, std::size_t device) const { return cost_[task * device_count() + device]; }
  /// The costs of `task` on all devices, in their order.
  std::span<const double> costs(std::size_t task) const {
    return std::span<const double>{cost_}.subspan(task * device_count(), device_count());
  }
  bool allowed(std::size_t task, std::size_t device) const { return cost(task, device) != kNotAllowed; }

  const ProblemDevice& device(std::size_t device) const { return devices_[device]; }
  const ProblemLink& link(std::size_t from_node, std::size_t to_node) const {
    return links_[from_node * memory_node_count_ + to_node];
  }

  /// Edges are numbered so that those that leave one task are consecutive: edges first_edge(t) up to, but
  /// without, first_edge(t + 1) leave task t. Two tasks may be joined by several edges; each is paid for by
  /// itself.
  std::size_t first_edge(std::size_t task) const { return first_successor_[task]; }
  std::span<const std::uint32_t> successors(std::size_t task) const {
    return std::span<const std::uint32_t>{edge_target_}.subspan(first_edge(task),
                                                                first_edge(task + 1) - first_edge(task));
  }
  /// The numbers of the edges that enter `task`, in ascending order.
  std::span<const std::uint32_t> incoming_edges(std::size_t task) const {
    return std::span<const std::uint32_t>{incoming_edge_}.subspan(
        first_incoming_[task], first_incoming_[task + 1] - first_incoming_[task]);
  }
  std::uint32_t edge_source(std::size_t edge) const { return edge_source_[edge]; }
  std::uint32_t edge_target(std::size_t edge) const { return edge_target_[edge]; }
  const ProblemEdge& edge(std::size_t edge) const { return edges_[edge]; }

  /// All tasks so that each comes after its predecessors; among those that are free to come next, lower
  /// numbers first.
  std::span<const std::uint32_t> topological_order() const { return topological_order_; }

  /// The seconds from the end of the edge's source on `from_device` until its target can start on
  /// `to_device`.
  double communication_seconds(std::size_t edge, std::size_t from_device, std::size_t to_device) const {
    if (from_device == to_device) return 0.0;
    const ProblemEdge& carried = edges_[edge];
    const std::size_t from_node = devices_[from_device].memory_node;
    const std::size_t to_node = devices_[to_device].memory_node;
    if (from_node == to_node || carried.bytes == 0.0) return carried.fixed_seconds;
    const ProblemLink& used = link(from_node, to_node);
    return carried.fixed_seconds + used.latency_seconds + carried.bytes / used.bandwidth_bytes_per_second;
  }

 private:
  friend class ProblemBuilder;
  Problem() = default;

  std::size_t memory_node_count_ = 0;
  std::vector<ProblemDevice> devices_;
  std::vector<ProblemLink> links_;              ///< memory node x memory node, row-major
  std::vector<double> cost_;                    ///< task x device, row-major
  std::vector<std::uint32_t> first_successor_;  ///< task_count + 1 offsets into the edge arrays
  std::vector<std::uint32_t> edge_source_;
  std::vector<std::uint32_t> edge_target_;
  std::vector<ProblemEdge> edges_;
  std::vector<std::uint32_t> first_incoming_;  ///< task_count + 1 offsets into incoming_edge_
  std::vector<std::uint32_t> incoming_edge_;
  std::vector<std::uint32_t> topological_order_;
};

/// Collects a problem and checks it. Devices come first, then tasks (whose costs are per device), then edges.
/// Each function throws `InvalidArgument` that names the offending task, device, edge or node and leaves the
/// builder as it was before the call.
class ProblemBuilder {
 public:
  /// Adds a device and returns its index.
  std::uint32_t add_device(ProblemDevice device = {});

  /// States the link from one memory node to another, in that direction; a second statement replaces the
  /// first.
  void set_link(std::uint32_t from_node, std::uint32_t to_node, ProblemLink link);

  /// Adds a task with its cost in seconds on each device, in their order, and returns its index.
  std::uint32_t add_task(std::span<const double> cost_seconds);
  std::uint32_t add_task(std::initializer_list<double> cost_seconds) {
    return add_task(std::span<const double>{cost_seconds.begin(), cost_seconds.size()});
  }

  /// Says that `target` needs what `source` makes. Both tasks must have been added.
  void add_edge(std::uint32_t source, std::uint32_t target, ProblemEdge edge = {});

  /// Checks the whole (cycles, missing links) and makes the problem, in O(tasks x devices + edges x log
  /// tasks). The builder keeps what it holds and may be extended and built again.
  Problem build() const;

 private:
  struct StatedLink {
    std::uint32_t from_node = 0;
    std::uint32_t to_node = 0;
    ProblemLink link;
  };
  struct StatedEdge {
    std::uint32_t source = 0;
    std::uint32_t target = 0;
    ProblemEdge edge;
  };

  void set_links(Problem& problem) const;
  void set_edges(Problem& problem) const;

  std::vector<ProblemDevice> devices_;
  std::vector<StatedLink> links_;
  std::vector<double> cost_;
  std::vector<StatedEdge> edges_;
  std::uint32_t task_count_ = 0;
};

/// Where and when one task runs.
struct Placement {
  /// The device of a task that has not been placed.
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t device = kNowhere;
  std::uint32_t worker = 0;  ///< within the device, from 0
  double start_seconds = 0.0;
  double finish_seconds = 0.0;
};

/// An answer to a problem: one placement per task, by task index.
struct Schedule {
  std::vector<Placement> placements;

  /// The latest finish of all tasks, in seconds from 0; 0 without tasks.
  double makespan_seconds() const;
};

/// One way in which a schedule breaks its problem's rules.
struct Violation {
  enum class Kind {
    WrongTaskCount,    ///< the schedule has more or fewer placements than the problem has tasks
    MissingTask,       ///< a task has been placed nowhere
    UnknownDevice,     ///< a device that the problem does not have
    UnknownWorker,     ///< a worker that the device does not have
    ForbiddenDevice,   ///< a device that may not run the task
    InvalidTime,       ///< a time that is negative or not finite
    WrongDuration,     ///< finish - start is not the task's cost on its device
    BrokenPrecedence,  ///< a task starts before what it needs is finished and has arrived
    Overlap,           ///< two tasks at the same time on one worker
  };

  Kind kind;
  std::uint32_t task = 0;  ///< the task concerned
  /// BrokenPrecedence: the predecessor; Overlap: the other task; else equal to `task`.
  std::uint32_t other_task = 0;
  std::string message;  ///< a sentence with the numbers
};

/// The name of a kind of violation, as in "overlap".
std::string_view to_string(Violation::Kind kind);

/// Checks a schedule against its problem and returns all that is wrong with it; empty means valid. Times that
/// differ by less than one part in 10^9 count as equal. It shares no code with any planner. O(tasks x log
/// tasks + edges).
std::vector<Violation> validate(const Problem& problem, const Schedule& schedule);

/// Places and orders all tasks of a problem ahead of time. A planner has no state: `plan` may be called from
/// several threads, and gives the same schedule for the same problem.
class Planner {
 public:
  virtual ~Planner() = default;

  /// The name under which `make_planner` finds it.
  virtual std::string_view name() const = 0;

  /// A schedule that `validate` accepts.
  virtual Schedule plan(const Problem& problem) const = 0;
};

/// Makes the planner of that name. Throws `InvalidArgument`, with the known names, if there is none.
std::unique_ptr<Planner> make_planner(std::string_view name);

/// The names that `make_planner` knows, in alphabetical order.
std::vector<std::string_view> planner_names();

}  // namespace hocket
