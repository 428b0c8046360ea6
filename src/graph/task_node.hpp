// SPDX-License-Identifier: Apache-2.0
/// The node of a task: its arguments, its place among the other tasks, its state. Two cache lines for a task that
/// needs no decision; what only placed tasks, named ones or the program's own accesses need lies in `TaskExtra`.
///
/// Nodes are shared by reference counts: the engine holds one reference from submission to completion, handles and the
/// records of last accesses hold others. Their memory is recycled (see block_pool.hpp).
#pragma once

#include <algorithm>
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

#include "graph/block_pool.hpp"

namespace hocket::memory {
struct Replica;
}

namespace hocket::detail {

class Datum;
class Region;
class TaskNode;

/// A codelet as one engine sees it. Nodes count as users (through the contexts of threads); see `engine/codelets.hpp`.
struct PreparedCodelet : TaskType {
  /// Null once the codelet is gone: nobody can submit it any more, and no task of it is left.
  std::shared_ptr<const CodeletCore> core;
  std::string name;
  std::vector<Parameter> own_parameters;
  std::vector<std::uint32_t> own_offsets;
  std::uint32_t number = 0;  ///< Within the engine; used again after the codelet is gone.
  std::uint64_t pool = 0;    ///< Serial number of the engine's block pool.
  mutable std::atomic<std::int64_t> other_users{0};  ///< That no thread's counter counts.
  /// Whether it says how much its tasks work; falls where its function throws.
  mutable std::atomic<bool> has_work{false};
  /// Whether one CPU device and no other can run it, whatever data it is given: its tasks are `plain`.
  bool simple = false;
  std::uint64_t eligible = 0;  ///< Where it is `simple`.
};

/// That a task uses a region, and how.
struct DataAccess {
  Region* region;
  Access access;
};

/// One data argument of a task.
struct Operand {
  Region* region = nullptr;
  Access access = Access::Read;
  std::uint8_t parameter = 0;        ///< Which parameter of the codelet; unused where there is no codelet.
  memory::Replica* bound = nullptr;  ///< Where the device finds it, from placement to completion.
};

// ---- edges -------------------------------------------------------------------------------------------------------------
// An arrow of the task graph is a word in the memory of its head (the successor), linked into the list of its tail. What
// names an edge is the address of that word with two marks in its low bits; the word itself names the next edge.

/// The successor needs what the predecessor makes (read after write, or asked for by `after`); otherwise only the order
/// matters, and a failure does not spread along the edge.
inline constexpr std::uintptr_t kValueBit = 1;
/// The word lies in an `EdgeChunk`, not in the node.
inline constexpr std::uintptr_t kChunkBit = 2;
/// What the list of a task that is over holds.
inline constexpr std::uintptr_t kClosed = 4;
inline constexpr std::uintptr_t kEdgeMarks = 7;

/// Further edges of a node with many predecessors.
struct alignas(graph::kBlockBytes) EdgeChunk {
  static constexpr std::size_t kSlots = 14;
  TaskNode* owner = nullptr;
  EdgeChunk* next = nullptr;
  std::array<std::uintptr_t, kSlots> slots{};
};
static_assert(sizeof(EdgeChunk) == graph::kBlockBytes);

enum class TaskKind : std::uint8_t {
  Kernel,      ///< A submitted codelet.
  HostAccess,  ///< `Runtime::read` or `write`: runs from the grant to its release.
  Marker,      ///< Start or end of a graph's run: no work of its own.
  Retirement,  ///< Destroys a datum that no handle names any more.
};

/// The CSR successors of a node that belongs to a recorded graph.
struct StaticSuccessors {
  TaskNode* const* nodes = nullptr;      ///< The nodes of this run of the graph.
  const std::uint32_t* begin = nullptr;  ///< Indices into `nodes`; the top bit marks a value edge.
  const std::uint32_t* end = nullptr;
};
inline constexpr std::uint32_t kValueEdge = 0x80000000u;
/// The index that stands for the end of the run.
inline constexpr std::uint32_t kEndOfRun = 0xffffffffu;
struct GraphRun;

/// The part of a node that a task in the fast lane does without.
struct TaskExtra {
  ~TaskExtra();

  // Written before submission, constant afterwards.
  std::string name;
  int priority = 0;
  std::uint64_t eligible = 0;  ///< Bit set of devices that may run it; not kept for plain tasks.
  TaskNode* parent = nullptr;  ///< The task that submitted it; counted reference.
  /// Predecessors that were not over at submission; counted; kept for tasks submitted by tasks, so that a waiting task
  /// can work towards what it waits for.
  std::vector<TaskNode*> predecessors;
  StaticSuccessors static_successors;  ///< For nodes of a recorded graph, besides the list.
  GraphRun* graph_run = nullptr;       ///< The run of a graph that it belongs to; of markers, see the node.
  Datum* retired = nullptr;            ///< What a retirement destroys.

  // Placement; written by the one who claimed it.
  std::vector<Operand> operands;     ///< Of plain tasks only from the moment when they are placed.
  std::atomic<bool> claimed{false};  ///< Set once by who takes the placed task to run, cancel or finish it.
  /// Set once by who decides whether a placed task runs: the one that begins it, or the one that withdraws it.
  std::atomic<bool> decided{false};
  bool by_policy = false;  ///< Was handed out by the policy.
  bool in_policy = false;  ///< Is held by the policy; guarded by its lock.
  DeviceId device{};
  std::uint32_t worker = 0;
  Seconds ready_at{};
  bool activated = false;  ///< Host accesses: is counted as active, until the grant.
  std::unique_ptr<Explanation> explanation;
  /// Copies that its operands wait for, plus one until they have all been asked for.
  std::atomic<std::uint32_t> missing_operands{0};
  std::exception_ptr
      transfer_failure;  ///< Written under the memory manager's lock, before the last copy is over.

  // Failure.
  /// Set when a predecessor that it needs failed (that task; counted reference), before `pending` falls.
  std::atomic<TaskNode*> failed_by{nullptr};
  std::exception_ptr error;           ///< The `TaskError` that waits throw; before `state` becomes Failed.
  std::atomic<bool> reported{false};  ///< Whether the user has been told of `error`.
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order is that of use, by cache line
class alignas(graph::kBlockBytes) TaskNode {
 public:
  static constexpr std::size_t kInlineRegions = 3;
  static constexpr std::size_t kInlineEdges = 3;
  static constexpr std::size_t kInlineStorage = 24;
  static constexpr std::size_t kWords = kInlineRegions + kInlineStorage / sizeof(std::uintptr_t);

  TaskNode() = default;
  TaskNode(const TaskNode&) = delete;
  TaskNode& operator=(const TaskNode&) = delete;

  /// A node with one reference, the engine's.
  static TaskNode* make(graph::BlockCache& cache) { return ::new (cache.allocate()) TaskNode; }

  // ---- first cache line ------------------------------------------------------------------------------------------------

  /// List of the edges to successors; `kClosed` once this task is over. Pushed by submitters (release), taken as a
  /// whole by the completer (acquire-release exchange).
  std::atomic<std::uintptr_t> successors{0};
  /// Predecessors that are not over. While the task runs: the tasks that it has submitted and that are not over.
  std::atomic<std::uint32_t> pending{0};
  std::atomic<std::uint32_t> references{1};
  std::atomic<TaskState> state{TaskState::Waiting};
  TaskKind kind = TaskKind::Kernel;
  std::uint8_t flags = 0;                 ///< `Flag`; constant once submitted.
  std::uint8_t region_count = 0;          ///< Plain tasks: data arguments.
  std::atomic<std::uint8_t> requests{0};  ///< `Request`
  std::atomic<std::uint8_t> begun{0};     ///< Fast lane: somebody has taken it out of its queue.
  std::atomic<std::uint8_t> verdict{0};   ///< Fast lane: `Verdict`, where there was a request.
  bool parent_let_go =
      false;  ///< The reference to the submitting task is gone; written by who ends the task.
  const TaskType* type = nullptr;  ///< Null for what has no kernel.
  std::atomic<TaskExtra*> extra_{nullptr};

 private:
  /// First the regions, or one pointer to more of them; from the fourth word on (the second cache line), what is stored,
  /// or one pointer to it, or three more regions where nothing is. Words that are left serve as edges.
  alignas(8) std::array<void*, kWords> words_{};

 public:
  TaskId id{};

 private:
  std::uint64_t place_ = 0;                           ///< File name and line of the submission.
  std::array<std::uintptr_t, kInlineEdges> edges_{};  ///< Or one pointer to the first of several chunks.

 public:
  enum Flag : std::uint8_t {
    kPlain = 1,  ///< Only CPU workers can run it, on data as it lies at home.
    kChunkedEdges = 2,
    kSpilledRegions = 4,
    kHeapStorage = 8,
    kHasCaptures = 16,   ///< One-off kernels with captures to destroy once the task is over.
    kInlineParent = 32,  ///< The submitting task is kept in place of the last region.
    kRunNode = 64,       ///< A task of a run of a graph.
    kEndsRun = 128,      ///< The end of a run of a graph.
  };
  enum Request : std::uint8_t {
    kCancel = 1,
    kClaim = 2,    ///< Somebody wants to run it out of turn.
    kFailed = 4,   ///< `failed_by` is set.
    kWaited = 8,   ///< A thread waits for it.
    kPlaced = 16,  ///< Is in the placed lane.
  };
  /// Who has the say over a task in the fast lane that somebody wanted to cancel or to run out of turn.
  enum Verdict : std::uint8_t {
    kOpen = 0,
    kTakenOutOfQueue,  ///< The one who asked ends or runs it; the queue's entry is void.
    kLeftToOwner,      ///< To be cancelled by whoever makes it ready or takes it.
    kTooLate,          ///< It runs.
    kCancelledByOwner,
    kRunByOwner,
  };

  bool has(Flag flag) const noexcept { return (flags & flag) != 0; }
  bool asked(Request request) const noexcept {
    return (requests.load(std::memory_order_relaxed) & request) != 0;
  }

  bool over() const noexcept {
    const TaskState now = state.load(std::memory_order_acquire);
    return now == TaskState::Done || now == TaskState::Failed || now == TaskState::Cancelled;
  }
  bool closed() const noexcept { return successors.load(std::memory_order_acquire) == kClosed; }
  std::string display_name() const;
  /// The engine while it lives, else null.
  Engine* engine() const noexcept { return static_cast<Engine*>(graph::BlockPool::of(this).owner()); }

  const PreparedCodelet* prepared() const noexcept {
    return type != nullptr && !type->one_off ? static_cast<const PreparedCodelet*>(type) : nullptr;
  }
  /// The codelet; only for tasks that are not one-off kernels in their own storage.
  const CodeletCore& core() const noexcept { return *prepared()->core; }

  TaskExtra* extra_or_null() const noexcept { return extra_.load(std::memory_order_acquire); }
  /// Made at first use; any thread.
  TaskExtra& extra();
  int priority() const noexcept {
    const TaskExtra* const extra = extra_or_null();
    return extra != nullptr ? extra->priority : 0;
  }
  /// The run of a graph that it belongs to, starts or ends. Markers have it in place of captures.
  GraphRun* graph_run() const noexcept {
    if (kind == TaskKind::Marker) return static_cast<GraphRun*>(words_[kInlineRegions]);
    const TaskExtra* const extra = extra_or_null();
    return extra != nullptr ? extra->graph_run : nullptr;
  }
  /// Markers only.
  void set_graph_run(GraphRun* run) noexcept { words_[kInlineRegions] = run; }
  TaskNode* failed_by() const noexcept {
    const TaskExtra* const extra = extra_or_null();
    return extra != nullptr ? extra->failed_by.load(std::memory_order_acquire) : nullptr;
  }
  std::vector<Operand>& operands() { return extra().operands; }
  /// Calls `visit(region, access)` for each data argument, wherever they are kept.
  template <class Function>
  void for_each_operand(Function&& visit) const {
    if (has(kPlain)) {
      std::uint32_t next = 0;
      for (std::uint32_t i = 0; i < type->parameter_count; ++i)
        if (type->parameters[i].is_data) visit(region(next++), type->parameters[i].access);
    } else if (const TaskExtra* const extra = extra_or_null()) {
      for (const Operand& operand : extra->operands) visit(*operand.region, operand.access);
    }
  }

  // ---- the submitting task -----------------------------------------------------------------------------------------------

  TaskNode* parent() const noexcept {
    if (has(kInlineParent)) return static_cast<TaskNode*>(words_[kInlineRegions - 1]);
    const TaskExtra* const extra = extra_or_null();
    return extra != nullptr ? extra->parent : nullptr;
  }
  /// Takes over a counted reference. After the regions have been set.
  void set_parent(TaskNode* parent) {
    if (has(kPlain) && region_count < kInlineRegions) {
      words_[kInlineRegions - 1] = parent;
      flags |= kInlineParent;
    } else {
      extra().parent = parent;
    }
  }

  bool has_submitter() const noexcept { return parent() != nullptr; }

  // ---- data arguments of plain tasks -------------------------------------------------------------------------------------

  /// Room for that many; each entry is to point to the `HomeView` of a region. After `type` has been set.
  void** make_regions(std::uint32_t count) {
    region_count = static_cast<std::uint8_t>(count);
    const std::size_t room = type->storage_bytes == 0 ? kWords : kInlineRegions;
    return count <= room ? words_.data() : spill_regions(count);
  }
  void* const* regions() const noexcept {
    return has(kSpilledRegions) ? static_cast<void* const*>(words_[0]) : words_.data();
  }
  Region& region(std::uint32_t i) const noexcept;  // graph/datum.hpp
  /// Fills `operands()` from the regions.
  void materialise_operands();

  // ---- scalars and captures ------------------------------------------------------------------------------------------------

  void* make_storage(std::uint32_t bytes, std::uint32_t alignment);
  const std::byte* storage() const noexcept {
    const void* const* const in_place = words_.data() + kInlineRegions;
    return static_cast<const std::byte*>(has(kHeapStorage) ? *in_place : in_place);
  }
  std::byte* storage() noexcept { return const_cast<std::byte*>(std::as_const(*this).storage()); }
  /// Makes the other node's, which lives at least as long and is of the same type, this one's.
  void share_storage(TaskNode& other) noexcept;

  // ---- where it was submitted ----------------------------------------------------------------------------------------------

  void set_place(const SourceLocation& location) noexcept {
    constexpr std::uint64_t kMostLine = 0xffff;
    place_ = (std::min<std::uint64_t>(location.line, kMostLine) << 48) |
             (reinterpret_cast<std::uintptr_t>(location.file) & 0xffffffffffffu);
  }
  void copy_place(const TaskNode& other) noexcept { place_ = other.place_; }
  SourceLocation place() const noexcept {
    SourceLocation location;
    if (place_ == 0) return location;
    const auto file = static_cast<std::uintptr_t>(place_ & 0xffffffffffffu);
    location.file = reinterpret_cast<const char*>(file);  // NOLINT(performance-no-int-to-ptr)
    location.line = static_cast<std::uint32_t>(place_ >> 48);
    return location;
  }

  // ---- edges -----------------------------------------------------------------------------------------------------------------

  /// Room for that many edges from predecessors; called at most once, after all the rest has been set.
  void make_edges(std::uint32_t count, graph::BlockCache& blocks) {
    if (count > kInlineEdges && count > kInlineEdges + (words_end() - words_used()))
      make_chunks(count, blocks);
  }

 private:
  friend class EdgeCursor;
  friend struct Destroyer;
  /// Of the words: where those begin, and end, that may serve as edges.
  std::size_t words_used() const noexcept {
    if (has(kInlineParent)) return kInlineRegions;
    return has(kSpilledRegions) ? 1 : region_count;
  }
  std::size_t words_end() const noexcept {
    const bool stores =
        kind == TaskKind::Marker || has(kHeapStorage) || (type != nullptr && type->storage_bytes != 0);
    return stores ? kInlineRegions : kWords;
  }
  void make_chunks(std::uint32_t count, graph::BlockCache& blocks);
  void free_chunks() noexcept;
  void** spill_regions(std::uint32_t count);
};
static_assert(sizeof(TaskNode) == graph::kBlockBytes);

/// Goes through the edges that `make_edges` made.
class EdgeCursor {
 public:
  explicit EdgeCursor(TaskNode& node) noexcept
      : chunk_(node.has(TaskNode::kChunkedEdges) ? *reinterpret_cast<EdgeChunk**>(node.edges_.data())
                                                 : nullptr),
        slot_(chunk_ != nullptr ? chunk_->slots.data() : node.edges_.data()),
        inline_end_(node.edges_.data() + TaskNode::kInlineEdges),
        more_(reinterpret_cast<std::uintptr_t*>(node.words_.data() + node.words_used())) {}
  /// The name of the next edge, without the value mark.
  std::uintptr_t next() noexcept {
    if (chunk_ == nullptr) {
      if (slot_ == inline_end_) slot_ = more_;
      return reinterpret_cast<std::uintptr_t>(slot_++);
    }
    if (slot_ == chunk_->slots.data() + EdgeChunk::kSlots) {
      chunk_ = chunk_->next;
      slot_ = chunk_->slots.data();
    }
    return reinterpret_cast<std::uintptr_t>(slot_++) | kChunkBit;
  }

 private:
  EdgeChunk* chunk_;
  std::uintptr_t* slot_;
  std::uintptr_t* inline_end_;
  std::uintptr_t* more_;
};

/// The word that an edge's name names: the next edge of the list.
inline std::uintptr_t& edge_word(std::uintptr_t edge) noexcept {
  return *reinterpret_cast<std::uintptr_t*>(edge & ~kEdgeMarks);  // NOLINT(performance-no-int-to-ptr)
}
/// The successor that an edge leads to.
inline TaskNode& edge_head(std::uintptr_t edge) noexcept {
  const std::uintptr_t block = edge & ~std::uintptr_t{graph::kBlockBytes - 1};
  if ((edge & kChunkBit) != 0)
    return *reinterpret_cast<EdgeChunk*>(block)->owner;  // NOLINT(performance-no-int-to-ptr)
  return *reinterpret_cast<TaskNode*>(block);            // NOLINT(performance-no-int-to-ptr)
}

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

  /// Takes over a reference that the caller has.
  static TaskRef adopt(TaskNode* node) noexcept {
    TaskRef reference;
    reference.node_ = node;
    return reference;
  }
  TaskNode* release() noexcept { return std::exchange(node_, nullptr); }
  /// Takes over a reference that the caller has, and leaves the former one to it.
  void reset(TaskNode* node) noexcept { node_ = node; }

  TaskNode* get() const noexcept { return node_; }
  TaskNode* operator->() const noexcept { return node_; }
  TaskNode& operator*() const noexcept { return *node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

 private:
  TaskNode* node_ = nullptr;
};

/// Links an edge of a node that is being submitted into the list of a predecessor. False where that is over meanwhile.
/// The caller keeps the predecessor alive.
inline bool link_edge(TaskNode& predecessor, std::uintptr_t edge) noexcept {
  std::uintptr_t head = predecessor.successors.load(std::memory_order_acquire);
  while (head != kClosed) {
    edge_word(edge) = head;
    // Release: the completer that takes the list sees the edge as written here.
    if (predecessor.successors.compare_exchange_weak(head, edge, std::memory_order_release,
                                                     std::memory_order_acquire))
      return true;
  }
  return false;
}

/// The last reference is gone.
void destroy_node(TaskNode* node) noexcept;

/// Marks `node` as failed by `culprit` (or by what made that one fail), unless it is marked already.
void mark_failed_by(TaskNode& node, TaskNode& culprit);

/// Counts nodes of a codelet that are made (positive) or destroyed: in the thread's `counts`, of which there are
/// `kCountedCodelets`, else in common.
inline void count_codelet_users(graph::Counter* counts, const PreparedCodelet& codelet, int more) noexcept {
  if (counts != nullptr && codelet.number < graph::kCountedCodelets)
    counts[codelet.number].add(more);
  else
    codelet.other_users.fetch_add(more, std::memory_order_release);
}
/// The same for a thread that may keep no counts for the codelet's engine.
inline void count_codelet_users(const PreparedCodelet& codelet, int more) noexcept {
  const graph::CurrentCache& here = graph::current_cache();
  count_codelet_users(here.serial == codelet.pool ? here.codelet_users : nullptr, codelet, more);
}

}  // namespace hocket::detail
