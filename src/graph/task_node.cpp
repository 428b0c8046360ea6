// SPDX-License-Identifier: Apache-2.0
#include "graph/task_node.hpp"

#include <fmt/format.h>

#include <new>

#include "graph/datum.hpp"
#include "graph/recorded_graph.hpp"

namespace hocket {

std::string_view to_string(TaskState state) noexcept {
  switch (state) {
    case TaskState::Waiting:
      return "waiting";
    case TaskState::Ready:
      return "ready";
    case TaskState::Running:
      return "running";
    case TaskState::Done:
      return "done";
    case TaskState::Failed:
      return "failed";
    case TaskState::Cancelled:
      return "cancelled";
    case TaskState::Recorded:
      return "recorded";
  }
  return "unknown";
}

}  // namespace hocket

namespace hocket::detail {

TaskExtra::~TaskExtra() {
  release_reference(failed_by.load(std::memory_order_relaxed));
  release_reference(parent);
  for (TaskNode* predecessor : predecessors) release_reference(predecessor);
}

TaskExtra& TaskNode::extra() {
  TaskExtra* extra = extra_.load(std::memory_order_acquire);
  if (extra != nullptr) return *extra;
  auto fresh = std::make_unique<TaskExtra>();
  if (extra_.compare_exchange_strong(extra, fresh.get(), std::memory_order_acq_rel)) extra = fresh.release();
  return *extra;
}

std::string TaskNode::display_name() const {
  if (const TaskExtra* const extra = extra_or_null(); extra != nullptr && !extra->name.empty())
    return extra->name;
  if (const PreparedCodelet* const codelet = prepared()) return codelet->name;
  if (type != nullptr) {
    const SourceLocation location = place();
    std::string_view file = location.file;
    file = file.substr(file.rfind('/') + 1);
    return fmt::format("{}:{}", file, location.line);
  }
  if (kind == TaskKind::Marker && has(kEndsRun)) return "run of a graph";
  if (kind != TaskKind::HostAccess) return "graph";
  const TaskExtra* const extra = extra_or_null();
  if (extra == nullptr || extra->operands.empty()) return "host access";
  const Operand& operand = extra->operands.front();
  return fmt::format("{} of '{}'", writes(operand.access) ? "write" : "read", operand.region->name());
}

// ---- arguments -------------------------------------------------------------------------------------------------------

void** TaskNode::spill_regions(std::uint32_t count) {
  auto* const spill = static_cast<void**>(::operator new(count * sizeof(void*)));
  words_[0] = spill;
  flags |= kSpilledRegions;
  return spill;
}

void TaskNode::materialise_operands() {
  std::vector<Operand>& all = operands();
  if (!all.empty()) return;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < type->parameter_count; ++i)
    if (type->parameters[i].is_data)
      all.push_back({&region(next++), type->parameters[i].access, static_cast<std::uint8_t>(i), nullptr});
}

void* TaskNode::make_storage(std::uint32_t bytes, std::uint32_t alignment) {
  if (bytes <= kInlineStorage && alignment <= alignof(std::uint64_t)) return &words_[kInlineRegions];
  void* const memory = ::operator new (bytes, std::align_val_t{std::max<std::size_t>(alignment, 16)});
  flags |= kHeapStorage;
  words_[kInlineRegions] = memory;
  return memory;
}

void TaskNode::share_storage(TaskNode& other) noexcept {
  if (type->storage_bytes == 0) return;
  flags |= kHeapStorage;
  words_[kInlineRegions] = other.storage();
}

// ---- edges -----------------------------------------------------------------------------------------------------------

void TaskNode::make_chunks(std::uint32_t count, graph::BlockCache& blocks) {
  EdgeChunk* first = nullptr;
  for (std::uint32_t made = 0; made < count; made += EdgeChunk::kSlots) {
    auto* const chunk = ::new (blocks.allocate()) EdgeChunk;
    chunk->owner = this;
    chunk->next = first;
    first = chunk;
  }
  ::new (edges_.data()) EdgeChunk*(first);
  flags |= kChunkedEdges;
}

void TaskNode::free_chunks() noexcept {
  auto* chunk = *reinterpret_cast<EdgeChunk**>(edges_.data());
  while (chunk != nullptr) {
    EdgeChunk* const next = chunk->next;
    graph::free_block(chunk);
    chunk = next;
  }
}

// ---- references ------------------------------------------------------------------------------------------------------

namespace {

/// Nodes that are to be destroyed by the thread, linked by their `successors`, and whether it is about it. A node may hold
/// the last reference to another, and that one the next: they must not go one inside the other.
constinit thread_local TaskNode* doomed = nullptr;
constinit thread_local bool destroying = false;

}  // namespace

struct Destroyer {
  static void destroy(TaskNode* node) noexcept;
};

void Destroyer::destroy(TaskNode* node) noexcept {
  if (node->flags != 0) {
    if (node->has(TaskNode::kInlineParent) && !node->parent_let_go) release_reference(node->parent());
    if (node->has(TaskNode::kChunkedEdges)) node->free_chunks();
    if (node->has(TaskNode::kSpilledRegions)) ::operator delete(node->words_[0]);
    if (node->has(TaskNode::kHeapStorage) && !node->has(TaskNode::kRunNode))
      ::operator delete (node->storage(),
                         std::align_val_t{std::max<std::size_t>(node->type->storage_alignment, 16)});
  }
  if (TaskExtra* const extra = node->extra_.load(std::memory_order_acquire)) {
    if (node->parent_let_go) extra->parent = nullptr;
    delete extra;
  }
  if (const PreparedCodelet* const codelet = node->prepared()) count_codelet_users(*codelet, -1);
  graph::free_block(node);
}

void destroy_node(TaskNode* node) noexcept {
  // A recorded task is never over: its captures go with it. First, since they are the user's code.
  if (node->has(TaskNode::kHasCaptures) && node->type->destroy != nullptr &&
      node->state.load(std::memory_order_relaxed) == TaskState::Recorded)
    node->type->destroy(node->storage());
  if (destroying) {
    node->successors.store(reinterpret_cast<std::uintptr_t>(doomed), std::memory_order_relaxed);
    doomed = node;
    return;
  }
  destroying = true;
  Destroyer::destroy(node);
  while (doomed != nullptr) {
    TaskNode* const next = doomed;
    doomed = reinterpret_cast<TaskNode*>(  // NOLINT(performance-no-int-to-ptr)
        next->successors.load(std::memory_order_relaxed));
    Destroyer::destroy(next);
  }
  destroying = false;
}

void add_reference(TaskNode* node) noexcept {
  if (node != nullptr) node->references.fetch_add(1, std::memory_order_relaxed);
}

void release_reference(TaskNode* node) noexcept {
  if (node == nullptr) return;
  if (!node->has(TaskNode::kRunNode)) {
    // The only reference: nobody else can make another. Acquire: what the earlier ones did with the node is over.
    if (node->references.load(std::memory_order_acquire) == 1 ||
        node->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy_node(node);
    return;
  }
  // A node of a run of a graph is used again: what remains last is the run's own reference.
  GraphRun* const run = node->graph_run();
  const std::uint32_t before = node->references.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 2)
    RecordedGraph::leave(*run);
  else if (before == 1)
    destroy_node(node);
}

void mark_failed_by(TaskNode& node, TaskNode& culprit) {
  TaskNode* root = culprit.failed_by();
  if (root == nullptr) root = &culprit;
  if (root == &node) {  // a run of a graph, withdrawn: nobody else is to blame
    node.requests.fetch_or(TaskNode::kCancel, std::memory_order_release);
    return;
  }
  TaskNode* expected = nullptr;
  add_reference(root);
  if (!node.extra().failed_by.compare_exchange_strong(expected, root, std::memory_order_acq_rel))
    release_reference(root);
  node.requests.fetch_or(TaskNode::kFailed, std::memory_order_release);
}

}  // namespace hocket::detail
