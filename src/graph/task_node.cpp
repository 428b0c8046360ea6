// SPDX-License-Identifier: Apache-2.0
#include "graph/task_node.hpp"

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

Edge TaskNode::closed_;

TaskNode::~TaskNode() {
  for (const Operand& operand : operands) operand.region->datum().release();
  release_reference(failed_by.load(std::memory_order_relaxed));
  release_reference(parent);
  if (details)
    for (TaskNode* predecessor : details->predecessors) release_reference(predecessor);
}

const std::string& TaskNode::display_name() const noexcept {
  static const std::string host_access = "host access";
  static const std::string marker = "graph";
  if (details && !details->name.empty()) return details->name;
  if (codelet) return codelet->name;
  return kind == TaskKind::HostAccess ? host_access : marker;
}

Edge& TaskNode::new_edge() {
  const std::uint32_t index = edges_++;
  if (index < kInlineEdges) return inline_edges_[index];
  const std::uint32_t beyond = index - static_cast<std::uint32_t>(kInlineEdges);
  if (beyond % 8 == 0) more_edges_.push_back(std::make_unique<std::array<Edge, 8>>());
  return (*more_edges_.back())[beyond % 8];
}

void add_reference(TaskNode* node) noexcept {
  if (node != nullptr) node->references.fetch_add(1, std::memory_order_relaxed);
}

void release_reference(TaskNode* node) noexcept {
  if (node == nullptr) return;
  // A node of a run of a graph lives in the run's array: what remains last is the run's own reference.
  GraphRun* const run = node->static_successors.nodes != nullptr ? node->graph_run : nullptr;
  // Release: what this owner did with the node happens before its destruction; acquire: by the last one.
  const std::uint32_t before = node->references.fetch_sub(1, std::memory_order_acq_rel);
  if (run != nullptr && before == 2) {
    RecordedGraph::leave(*run);
  } else if (before == 1) {
    delete node;
  }
}

void mark_failed_by(TaskNode& node, TaskNode& culprit) noexcept {
  TaskNode* root = culprit.failed_by.load(std::memory_order_acquire);
  if (root == nullptr) root = &culprit;
  if (root == &node) {  // a run of a graph, withdrawn: nobody else is to blame
    node.cancel_requested.store(true, std::memory_order_release);
    return;
  }
  TaskNode* expected = nullptr;
  add_reference(root);
  if (!node.failed_by.compare_exchange_strong(expected, root, std::memory_order_acq_rel))
    release_reference(root);
}

bool add_dependency(TaskNode& predecessor, TaskNode& successor, bool value) {
  Edge* head = predecessor.successors.load(std::memory_order_acquire);
  if (head != TaskNode::closed()) {
    // The count rises before the edge can be seen: the predecessor may complete right after.
    successor.pending.fetch_add(1, std::memory_order_relaxed);
    Edge& edge = successor.new_edge();
    edge.successor = &successor;
    edge.value = value;
    do {
      edge.next = head;
      // Release: the completer that takes the list sees the edge as written here.
      if (predecessor.successors.compare_exchange_weak(head, &edge, std::memory_order_release,
                                                       std::memory_order_acquire))
        return true;
    } while (head != TaskNode::closed());
    successor.pending.fetch_sub(1, std::memory_order_relaxed);
  }
  if (value && predecessor.state.load(std::memory_order_acquire) != TaskState::Done)
    mark_failed_by(successor, predecessor);
  return false;
}

}  // namespace hocket::detail
