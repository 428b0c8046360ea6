// SPDX-License-Identifier: Apache-2.0
/// Dependencies from accesses: tasks that use the same data run as if in the order of submission (sequential
/// consistency). A reader waits for the last writer of each part that it reads; a writer waits for the last
/// writer and the readers since.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/datum.hpp"
#include "graph/task_node.hpp"

namespace hocket::graph {

/// Kept by each thread from one inference to the next.
struct InferenceScratch {
  BlockCache& blocks;                      ///< The thread's, of the engine whose tasks it infers.
  std::vector<detail::TaskNode*> dropped;  ///< References to release once no datum is locked.
};

/// Releases what inferences have dropped: nodes may end, and code of the user with them, which may submit tasks.
inline void release_dropped(InferenceScratch& scratch) noexcept {
  while (!scratch.dropped.empty()) {
    detail::TaskNode* const task = scratch.dropped.back();
    scratch.dropped.pop_back();
    detail::release_reference(task);
  }
}

/// Gives a task its dependencies: on the earlier accesses that conflict with `operands`, and on the tasks `after`.
/// `recorded` is noted as the one that accesses the data now; the two are one task but for a run of a graph, whose
/// first node waits and whose last node is what later tasks wait for. Returns whether `waiting` is ready; where it is
/// not, it may run, be over and be gone at any time from the last link on.
///
/// Cost: O(parts accessed), and O(boxes) at the first use of a region. `alone`: no other thread uses the records of any
/// datum meanwhile; else the datums are locked together, in order of their addresses, so that two submissions that share
/// several data are ordered alike on all of them. The caller is to call `release_dropped` afterwards.
///
/// Throws `UninitialisedRead`, without any effect, where an operand reads what nothing has written.
bool infer(InferenceScratch& scratch, detail::TaskNode& waiting, detail::TaskNode& recorded,
           std::span<const detail::DataAccess> operands, std::span<const Task> after, bool alone);

/// Links edges from predecessors to the task that waits for them, one after the other.
class Linker {
 public:
  /// At most that many edges: one for each predecessor that held it up when they were counted. `held`: what the task
  /// waits for besides.
  Linker(detail::TaskNode& waiting, detail::TaskNode& recorded, std::uint32_t most, std::uint32_t held)
      : waiting_(waiting),
        recorded_(recorded),
        most_(most),
        keeps_(waiting.has_submitter()),
        edges_(waiting) {
    // All are counted before the first edge can be seen: until the last link is made, the task cannot become ready.
    waiting.pending.store(most + held, std::memory_order_relaxed);
  }

  /// `value`: it needs what the predecessor makes.
  [[gnu::always_inline]] void link(detail::TaskNode& predecessor, bool value) {
    if (&predecessor == &recorded_ || &predecessor == &waiting_) return;  // another operand of the same task
    if (!predecessor.closed()) {
      if (keeps_) {
        detail::add_reference(&predecessor);
        waiting_.extra().predecessors.push_back(&predecessor);
      }
      if (detail::link_edge(predecessor, edges_.next() | (value ? detail::kValueBit : 0))) {
        ++linked_;
        return;
      }
    }
    // It is over.
    if (value && predecessor.state.load(std::memory_order_acquire) != TaskState::Done)
      mark_failed_by(waiting_, predecessor);
  }

  /// One access to one part: links what it waits for, and notes it. One reference to the recorded task goes to the
  /// records.
  [[gnu::always_inline]] void access(InferenceScratch& scratch, detail::AccessState& state, Access access) {
    detail::TaskNode* const writer = state.writer.get();
    if (writer != nullptr) link(*writer, reads(access));
    if (writes(access)) {
      if (!state.readers.empty()) {
        for (detail::TaskNode* const reader : state.readers.all()) link(*reader, false);
        state.readers.clear(scratch.dropped);
      }
      state.written = true;
      if (writer != nullptr) scratch.dropped.push_back(writer);
      state.writer.reset(&recorded_);
    } else if (writer == &recorded_ || state.readers.last() == &recorded_) {
      scratch.dropped.push_back(&recorded_);  // it is noted already
    } else {
      state.readers.add(&recorded_, scratch.dropped);
    }
  }

  /// Whether every predecessor was over before its link was made. Where not, and nothing holds the task back, it may be
  /// over and gone by now.
  bool ready() {
    if (linked_ == 0) {
      // Nobody else knows of it. From now on the count is that of the tasks that it submits.
      waiting_.pending.store(0, std::memory_order_relaxed);
      return true;
    }
    const std::uint32_t missed = most_ - linked_;
    // Acquire-release: what the predecessors did is seen by whoever runs the task.
    return missed != 0 && waiting_.pending.fetch_sub(missed, std::memory_order_acq_rel) == missed;
  }

 private:
  detail::TaskNode& waiting_;
  detail::TaskNode& recorded_;
  const std::uint32_t most_;
  std::uint32_t linked_ = 0;
  const bool keeps_;
  detail::EdgeCursor edges_;
};

/// Whether a predecessor holds up what comes after it: until it is over, and, where it did not succeed, until that has
/// been noted. What is not held up may run, and be over and gone, as soon as its last edge is linked.
inline bool holds_up(const detail::TaskNode& predecessor) noexcept {
  return !predecessor.closed() || predecessor.state.load(std::memory_order_acquire) != TaskState::Done;
}

/// How many edges an access to one part may need.
inline std::uint32_t count_edges(const detail::AccessState& state, Access access) noexcept {
  std::uint32_t edges = state.writer && holds_up(*state.writer) ? 1 : 0;
  if (writes(access))
    for (const detail::TaskNode* const reader : state.readers.all()) edges += holds_up(*reader) ? 1 : 0;
  return edges;
}

/// What `infer` does for a task that is alone in waiting and being recorded, where each operand is the whole of a datum
/// that nobody has parted yet, and no other thread uses any records: nothing (and nothing has happened) where an operand
/// is none, or may have to be refused.
inline std::optional<bool> infer_wholes(InferenceScratch& scratch, detail::TaskNode& task,
                                        std::span<const detail::DataAccess> operands) {
  std::uint32_t most = 0;
  for (const detail::DataAccess& operand : operands) {
    if (!operand.region->is_whole()) return std::nullopt;
    const detail::AccessState* const state = operand.region->datum().only_access();
    if (state == nullptr || !(state->written || operand.access == Access::Write)) return std::nullopt;
    most += count_edges(*state, operand.access);
  }
  task.make_edges(most, scratch.blocks);
  // The task is nobody else's yet, so that its count may change by a plain store.
  task.references.store(
      task.references.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(operands.size()),
      std::memory_order_relaxed);
  Linker linker(task, task, most, 0);
  for (const detail::DataAccess& operand : operands)
    linker.access(scratch, *operand.region->datum().only_access(), operand.access);
  return linker.ready();
}

}  // namespace hocket::graph
