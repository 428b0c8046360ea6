// SPDX-License-Identifier: Apache-2.0
/// The node of a task: its arguments, its place among the other tasks, its state. Nodes are shared by reference
/// counts: the engine holds one from submission to completion, handles, queues and the records of last
/// accesses hold others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <hocket/codelet.hpp>
#include <hocket/runtime.hpp>
#include <hocket/task.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::memory {
struct Replica;
}

namespace hocket::detail {

class Datum;
class Region;
class TaskNode;

/// One data argument of a task.
struct Operand {
  Region* region = nullptr;
  Access access = Access::Read;
  std::uint8_t parameter = 0;        ///< Which parameter of the codelet; unused where there is no codelet.
  memory::Replica* bound = nullptr;  ///< Where the device finds it, from placement to completion.
};

/// An arrow of the task graph, stored in its head (the successor) and linked into the list of its tail.
struct Edge {
  TaskNode* successor = nullptr;
  Edge* next = nullptr;
  /// Whether the successor needs what the predecessor makes (read after write, or asked for by `after`); otherwise
  /// only the order matters, and a failure does not spread along it.
  bool value = false;
};

enum class TaskKind : std::uint8_t {
  Kernel,      ///< A submitted codelet.
  HostAccess,  ///< `Runtime::read` or `write`: runs from the grant to its release.
  Marker,      ///< Start or end of a graph's run: no work of its own.
};

/// The part of a node that most tasks never need.
struct TaskDetails {
  std::string name;
  /// Predecessors that were not over at submission; kept for tasks submitted by tasks, so that a waiting task can
  /// work towards what it waits for.
  std::vector<TaskNode*> predecessors;
  std::unique_ptr<Explanation> explanation;
};

/// The CSR successors of a node that belongs to a recorded graph.
struct StaticSuccessors {
  TaskNode* nodes = nullptr;             ///< The nodes of this run of the graph.
  const std::uint32_t* begin = nullptr;  ///< Indices into `nodes`; the top bit marks a value edge.
  const std::uint32_t* end = nullptr;
};
inline constexpr std::uint32_t kValueEdge = 0x80000000u;
/// The index that stands for the end of the run.
inline constexpr std::uint32_t kEndOfRun = 0xffffffffu;
struct GraphRun;

class TaskNode {
 public:
  static constexpr std::size_t kInlineEdges = 4;

  TaskNode() = default;
  TaskNode(const TaskNode&) = delete;
  TaskNode& operator=(const TaskNode&) = delete;
  ~TaskNode();

  // ---- identity; written before submission, constant afterwards -------------------------------------------
  TaskId id{};
  TaskKind kind = TaskKind::Kernel;
  Engine* engine = nullptr;
  std::shared_ptr<const CodeletCore> codelet;
  std::vector<Operand> operands;
  std::shared_ptr<std::byte[]> scalars;       ///< All scalar arguments, each at its offset.
  std::vector<std::uint32_t> scalar_offsets;  ///< By parameter; unused for data.
  std::uint64_t eligible = 0;                 ///< Bit set of devices that may run it.
  int priority = 0;
  bool plain = false;  ///< Only CPU workers can run it, on data as it lies at home.
  SourceLocation location;
  TaskNode* parent = nullptr;            ///< The task that submitted it; counted reference.
  std::unique_ptr<TaskDetails> details;  ///< Made by `extra()`; before it is published, or by the completer.
  StaticSuccessors static_successors;    ///< For nodes of a recorded graph instead of `successors`.
  GraphRun* graph_run = nullptr;         ///< The run of a graph that it belongs to or ends.

  // ---- life ------------------------------------------------------------------------------------------------
  std::atomic<std::uint32_t> references{1};
  /// Predecessors that are not over, plus one while it is being submitted. Zero: ready.
  std::atomic<std::uint32_t> pending{1};
  std::atomic<TaskState> state{TaskState::Waiting};
  /// Set once by who takes the task to run, cancel or finish it: the others must leave it.
  std::atomic<bool> claimed{false};
  /// Set when a predecessor that it needs failed (that task; counted reference), before `pending` falls.
  std::atomic<TaskNode*> failed_by{nullptr};
  std::atomic<bool> cancel_requested{false};
  /// Set once by who decides whether a placed task runs: the one that begins it, or the one that withdraws it. In the
  /// fast lane `claimed` decides.
  std::atomic<bool> decided{false};
  /// List of the edges to successors; `closed()` once this task is over. Pushed by submitters (release), taken as a
  /// whole by the completer (acquire-release exchange).
  std::atomic<Edge*> successors{nullptr};
  std::atomic<std::uint32_t> waiters{0};        ///< Threads that wait for it; see Engine::wait_until.
  std::atomic<std::uint32_t> live_children{0};  ///< Tasks that it has submitted and that are not over.
  /// Copies that its operands wait for, plus one until they have all been asked for.
  std::atomic<std::uint32_t> missing_operands{0};
  std::exception_ptr
      transfer_failure;      ///< Written under the memory manager's lock, before the last copy is over.
  std::exception_ptr error;  ///< The `TaskError` that waits throw; before `state` becomes Failed.
  std::atomic<bool> reported{false};  ///< Whether the user has been told of `error`.

  // ---- placement; written by the one who claimed it ---------------------------------------------------------
  bool fast = false;       ///< Took the fast lane; set before it can be taken.
  bool by_policy = false;  ///< Was handed out by the policy.
  bool in_policy = false;  ///< Is held by the policy; guarded by its lock.
  DeviceId device{};
  std::uint32_t worker = 0;
  Seconds ready_at{};
  Seconds began_at{};
  Seconds predicted{};

  bool over() const noexcept {
    const TaskState now = state.load(std::memory_order_acquire);
    return now == TaskState::Done || now == TaskState::Failed || now == TaskState::Cancelled;
  }
  const std::string& display_name() const noexcept;
  TaskDetails& extra() {
    if (!details) details = std::make_unique<TaskDetails>();
    return *details;
  }

  /// An edge to be linked into a predecessor's list; lives as long as this node.
  Edge& new_edge();

  /// The value of `successors` once closed.
  static Edge* closed() noexcept { return &closed_; }

 private:
  static Edge closed_;
  std::array<Edge, kInlineEdges> inline_edges_;
  std::uint32_t edges_ = 0;
  std::vector<std::unique_ptr<std::array<Edge, 8>>> more_edges_;
};

/// Counted reference to a node.
class TaskRef {
 public:
  TaskRef() noexcept = default;
  explicit TaskRef(TaskNode* node) noexcept : node_(node) { add_reference(node_); }
  TaskRef(const TaskRef& other) noexcept : node_(other.node_) { add_reference(node_); }
  TaskRef(TaskRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  TaskRef& operator=(TaskRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~TaskRef() { release_reference(node_); }

  TaskNode* get() const noexcept { return node_; }
  TaskNode* operator->() const noexcept { return node_; }
  TaskNode& operator*() const noexcept { return *node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

 private:
  TaskNode* node_ = nullptr;
};

/// Makes `successor` wait for `predecessor`, unless that is over already; where it is over and failed and the edge
/// carries a value, marks the successor as failed by it. Called while the successor is being submitted,
/// and the caller keeps the predecessor alive. Returns whether the successor now waits for it.
bool add_dependency(TaskNode& predecessor, TaskNode& successor, bool value);

/// Marks `node` as failed by `culprit` (or by what made that one fail), unless it is marked already.
void mark_failed_by(TaskNode& node, TaskNode& culprit) noexcept;

}  // namespace hocket::detail
