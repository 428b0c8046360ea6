// SPDX-License-Identifier: Apache-2.0
#include "graph/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hocket::graph {
namespace {

using detail::AccessState;
using detail::DataAccess;
using detail::Datum;
using detail::TaskNode;

/// Locks the distinct datums of some operands in order of their numbers.
class DatumLocks {
 public:
  explicit DatumLocks(std::span<const DataAccess> operands) {
    if (operands.size() > few_.size()) {
      for (const DataAccess& operand : operands) many_.push_back(&operand.region->datum());
      std::sort(many_.begin(), many_.end(), [](const Datum* a, const Datum* b) { return a->id() < b->id(); });
      many_.erase(std::unique(many_.begin(), many_.end()), many_.end());
      for (Datum* datum : many_) datum->access_lock.lock();
      return;
    }
    for (const DataAccess& operand : operands) {
      Datum* const datum = &operand.region->datum();
      std::size_t place = count_;
      while (place > 0 && few_[place - 1]->id() > datum->id()) --place;
      if (place > 0 && few_[place - 1] == datum) continue;
      for (std::size_t i = count_++; i > place; --i) few_[i] = few_[i - 1];
      few_[place] = datum;
    }
    for (std::size_t i = 0; i < count_; ++i) few_[i]->access_lock.lock();
  }
  DatumLocks(const DatumLocks&) = delete;
  DatumLocks& operator=(const DatumLocks&) = delete;
  ~DatumLocks() {
    for (Datum* datum : many_) datum->access_lock.unlock();
    for (std::size_t i = 0; i < count_; ++i) few_[i]->access_lock.unlock();
  }

 private:
  std::array<Datum*, 6> few_;
  std::vector<Datum*> many_;
  std::size_t count_ = 0;
};

/// Notes what a predecessor means for `waiting`: one more to wait for, or, where it is over and failed, a failure.
inline void consider(InferenceScratch& scratch, TaskNode* predecessor, TaskNode& waiting, TaskNode& recorded,
                     bool value) {
  if (predecessor == &recorded || predecessor == &waiting) return;  // another operand of the same task
  if (!predecessor->closed()) {
    scratch.predecessors.push_back({predecessor, value});
  } else if (value && predecessor->state.load(std::memory_order_acquire) != TaskState::Done) {
    mark_failed_by(waiting, *predecessor);
  }
}

[[noreturn]] void refuse(const TaskNode& task, const DataAccess& operand, const Box& part) {
  if (task.kind != detail::TaskKind::HostAccess)
    throw UninitialisedRead(fmt::format(
        "task '{}' reads data '{}' (part {}), which nothing has written; fill it first, write it through "
        "Runtime::write, or take it as Out<T> in the kernel",
        task.display_name(), operand.region->name(), to_string(part)));
  throw UninitialisedRead(fmt::format(
      "data '{}' (part {}) is read, but nothing has written it; submit a task that writes it first",
      operand.region->name(), to_string(part)));
}

bool may_read_unwritten(const TaskNode& recorded, Access access) noexcept {
  return recorded.kind == detail::TaskKind::HostAccess && access != Access::Read;
}

/// Notes one access to one part; returns how many more references its records now hold to the task.
inline std::uint32_t access(InferenceScratch& scratch, AccessState& state, TaskNode& waiting,
                            TaskNode& recorded, Access access) {
  TaskNode* const writer = state.writer.get();
  if (writer != nullptr) consider(scratch, writer, waiting, recorded, reads(access));
  if (writes(access)) {
    if (!state.readers.empty()) {
      for (TaskNode* const reader : state.readers.all()) consider(scratch, reader, waiting, recorded, false);
      state.readers.clear(scratch.dropped);
    }
    state.written = true;
    if (writer == &recorded) return 0;
    if (writer != nullptr) scratch.dropped.push_back(state.writer.release());
    state.writer = detail::TaskRef::adopt(&recorded);
    return 1;
  }
  const auto readers = state.readers.all();
  if (writer == &recorded || (!readers.empty() && readers.back() == &recorded)) return 0;
  state.readers.add(&recorded, scratch.dropped);
  return 1;
}

/// What destroys a datum must not become ready while the datum is locked: it waits for the unlocking, too.
std::uint32_t held_back(const TaskNode& waiting) noexcept {
  return waiting.kind == detail::TaskKind::Retirement ? 1 : 0;
}

/// Links edges from all predecessors. Returns whether every one of them was over before its link was made; where not,
/// and nothing holds the task back, it may be over and gone by then.
bool link(InferenceScratch& scratch, TaskNode& waiting, std::uint32_t held) {
  const auto count = static_cast<std::uint32_t>(scratch.predecessors.size());
  if (count == 0) return true;
  // All are counted before the first edge can be seen: until the last link is made, the task cannot become ready.
  waiting.pending.store(count + held, std::memory_order_relaxed);
  waiting.make_edges(count);
  detail::EdgeCursor edges(waiting);
  std::uint32_t missed = 0;
  for (const InferenceScratch::Predecessor& predecessor : scratch.predecessors) {
    const std::uintptr_t edge = edges.next() | (predecessor.value ? detail::kValueBit : 0);
    if (detail::link_edge(*predecessor.task, edge)) continue;
    ++missed;
    if (predecessor.value && predecessor.task->state.load(std::memory_order_acquire) != TaskState::Done)
      mark_failed_by(waiting, *predecessor.task);
  }
  // Acquire-release: what the predecessors did is seen by whoever runs the task.
  return missed != 0 && waiting.pending.fetch_sub(missed, std::memory_order_acq_rel) == missed;
}

}  // namespace

bool infer(InferenceScratch& scratch, TaskNode& waiting, TaskNode& recorded,
           std::span<const DataAccess> operands, std::span<const Task> after) {
  scratch.predecessors.clear();
  scratch.dropped.clear();
  bool ready = false;
  const std::uint32_t held = held_back(waiting);
  {
    const DatumLocks locks(operands);
    // Nothing changes before it is sure that nothing is refused.
    for (const DataAccess& operand : operands) {
      if (!reads(operand.access)) continue;
      Datum& datum = operand.region->datum();
      const AccessState* const only = datum.only_access();
      if (only != nullptr && only->written) continue;
      if (may_read_unwritten(recorded, operand.access)) continue;
      datum.for_each_access(*operand.region, [&](const Box& part, const AccessState& state) {
        if (!state.written) refuse(recorded, operand, part);
      });
    }
    std::uint32_t references = 0;
    for (const DataAccess& operand : operands) {
      Datum& datum = operand.region->datum();
      AccessState* const only = operand.region->slot() == 0 ? datum.only_access() : nullptr;
      if (only != nullptr) {
        references += access(scratch, *only, waiting, recorded, operand.access);
      } else {
        datum.for_each_access(*operand.region, [&](const Box&, AccessState& state) {
          references += access(scratch, state, waiting, recorded, operand.access);
        });
      }
    }
    for (const Task& earlier : after) consider(scratch, earlier.node(), waiting, recorded, true);
    // The task is nobody else's yet, so that its count may change by a plain store.
    recorded.references.store(recorded.references.load(std::memory_order_relaxed) + references,
                              std::memory_order_relaxed);
    if (!scratch.predecessors.empty() && waiting.has_submitter())
      for (const InferenceScratch::Predecessor& predecessor : scratch.predecessors) {
        detail::add_reference(predecessor.task);
        waiting.extra().predecessors.push_back(predecessor.task);
      }
    ready = link(scratch, waiting, held);
  }
  if (!ready && held != 0) ready = waiting.pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
  for (TaskNode* const task : scratch.dropped) detail::release_reference(task);
  return ready;
}

}  // namespace hocket::graph
