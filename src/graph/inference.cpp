// SPDX-License-Identifier: Apache-2.0
#include "graph/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace hocket::graph {
namespace {

using detail::AccessState;
using detail::Datum;
using detail::Operand;
using detail::TaskNode;

/// Locks the distinct datums of some operands in order of their numbers.
class DatumLocks {
 public:
  explicit DatumLocks(std::span<const Operand> operands) {
    if (operands.size() > few_.size()) {
      for (const Operand& operand : operands) many_.push_back(&operand.region->datum());
      std::sort(many_.begin(), many_.end(), [](const Datum* a, const Datum* b) { return a->id() < b->id(); });
      many_.erase(std::unique(many_.begin(), many_.end()), many_.end());
      for (Datum* datum : many_) datum->access_lock.lock();
      return;
    }
    for (const Operand& operand : operands) {
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

struct Predecessor {
  TaskNode* task;
  bool value;
};

/// Lists that one inference needs, kept by each thread for the next.
struct Scratch {
  std::vector<Predecessor> predecessors;
  std::vector<TaskNode*> dropped;  ///< References to release once nobody needs the tasks any more.
  std::array<std::uint32_t, 1> first_part{0};

  void clear() {
    predecessors.clear();
    dropped.clear();
  }
};
thread_local Scratch scratch;

std::span<const std::uint32_t> parts_of(const Operand& operand) {
  Datum& datum = operand.region->datum();
  if (datum.accesses.size() == 1 && operand.region->slot() == 0) return scratch.first_part;
  return datum.accesses.cover(operand.region->box(), operand.region->slot());
}

/// Notes what a predecessor means for `waiting`: one more to wait for, or, where it is over and failed, a failure.
void consider(TaskNode* predecessor, TaskNode& waiting, TaskNode& recorded, bool value) {
  if (predecessor == &recorded || predecessor == &waiting) return;  // another operand of the same task
  if (!predecessor->closed()) {
    scratch.predecessors.push_back({predecessor, value});
  } else if (value && predecessor->state.load(std::memory_order_acquire) != TaskState::Done) {
    mark_failed_by(waiting, *predecessor);
  }
}

[[noreturn]] void refuse(const TaskNode& task, const Operand& operand, const Box& part) {
  if (task.kind != detail::TaskKind::HostAccess)
    throw UninitialisedRead(fmt::format(
        "task '{}' reads data '{}' (part {}), which nothing has written; fill it first, write it through "
        "Runtime::write, or take it as Out<T> in the kernel",
        task.display_name(), operand.region->name(), to_string(part)));
  throw UninitialisedRead(fmt::format(
      "data '{}' (part {}) is read, but nothing has written it; submit a task that writes it first",
      operand.region->name(), to_string(part)));
}

void check_written(const TaskNode& recorded, const Operand& operand) {
  Datum& datum = operand.region->datum();
  for (const std::uint32_t i : parts_of(operand)) {
    if (datum.accesses[i].state.written) continue;
    if (recorded.kind != detail::TaskKind::HostAccess || operand.access == Access::Read)
      refuse(recorded, operand, datum.accesses[i].box);
  }
}

/// Puts the task into the records of one part; returns how many references those now hold to it.
std::uint32_t record(AccessState& state, TaskNode& recorded, Access access) {
  if (writes(access)) {
    state.readers.clear(scratch.dropped);
    const bool again = state.writer.get() == &recorded;
    if (!again) {
      if (TaskNode* const former = state.writer.release()) scratch.dropped.push_back(former);
      state.writer = detail::TaskRef::adopt(&recorded);
    }
    state.written = true;
    return again ? 0 : 1;
  }
  const auto readers = state.readers.all();
  if (state.writer.get() == &recorded || (!readers.empty() && readers.back() == &recorded)) return 0;
  state.readers.add(&recorded, scratch.dropped);
  return 1;
}

/// What destroys a datum must not become ready while the datum is locked: it waits for the unlocking, too.
std::uint32_t held_back(const TaskNode& waiting) noexcept {
  return waiting.kind == detail::TaskKind::Retirement ? 1 : 0;
}

/// Links edges from all predecessors. Returns whether every one of them was over before its link was made.
bool link(TaskNode& waiting) {
  const auto count = static_cast<std::uint32_t>(scratch.predecessors.size());
  if (count == 0) return true;
  // All are counted before the first edge can be seen: until the last link is made, the task cannot become ready.
  waiting.pending.store(count + held_back(waiting), std::memory_order_relaxed);
  waiting.make_edges(count);
  detail::EdgeCursor edges(waiting);
  std::uint32_t missed = 0;
  for (const Predecessor& predecessor : scratch.predecessors) {
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

bool infer(TaskNode& waiting, TaskNode& recorded, std::span<const Operand> operands,
           std::span<const Task> after) {
  scratch.clear();
  bool ready = false;
  {
    const DatumLocks locks(operands);
    for (const Operand& operand : operands)
      if (reads(operand.access)) check_written(recorded, operand);
    std::uint32_t references = 0;
    for (const Operand& operand : operands) {
      Datum& datum = operand.region->datum();
      for (const std::uint32_t i : parts_of(operand)) {
        AccessState& state = datum.accesses[i].state;
        if (state.writer) consider(state.writer.get(), waiting, recorded, reads(operand.access));
        if (writes(operand.access))
          for (TaskNode* const reader : state.readers.all()) consider(reader, waiting, recorded, false);
        references += record(state, recorded, operand.access);
      }
    }
    for (const Task& earlier : after) consider(earlier.node(), waiting, recorded, true);
    // The task is nobody else's yet, so that its count may change by a plain store.
    recorded.references.store(recorded.references.load(std::memory_order_relaxed) + references,
                              std::memory_order_relaxed);
    if (waiting.has_submitter())
      for (const Predecessor& predecessor : scratch.predecessors) {
        detail::add_reference(predecessor.task);
        waiting.extra().predecessors.push_back(predecessor.task);
      }
    ready = link(waiting);
  }
  if (!ready && held_back(waiting) != 0) ready = waiting.pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
  for (TaskNode* const task : scratch.dropped) detail::release_reference(task);
  return ready;
}

}  // namespace hocket::graph
