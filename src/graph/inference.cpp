// SPDX-License-Identifier: Apache-2.0
#include "graph/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace hocket::graph {
namespace {

using detail::AccessState;
using detail::Datum;
using detail::Operand;
using detail::TaskNode;
using detail::TaskRef;

/// Locks the distinct datums of some operands in order of their numbers.
class DatumLocks {
 public:
  explicit DatumLocks(std::span<const Operand> operands) {
    for (const Operand& operand : operands) datums_.push_back(&operand.region->datum());
    std::sort(datums_.begin(), datums_.end(),
              [](const Datum* a, const Datum* b) { return a->id() < b->id(); });
    datums_.erase(std::unique(datums_.begin(), datums_.end()), datums_.end());
    for (Datum* datum : datums_) datum->access_mutex.lock();
  }
  DatumLocks(const DatumLocks&) = delete;
  DatumLocks& operator=(const DatumLocks&) = delete;
  ~DatumLocks() {
    for (Datum* datum : datums_) datum->access_mutex.unlock();
  }

 private:
  std::vector<Datum*> datums_;
};

void depend(TaskNode& predecessor, TaskNode& waiting, TaskNode& recorded, bool value) {
  if (&predecessor == &recorded || &predecessor == &waiting) return;  // another operand of the same task
  const bool waits = detail::add_dependency(predecessor, waiting, value);
  if (waits && waiting.parent != nullptr) {
    detail::add_reference(&predecessor);
    waiting.extra().predecessors.push_back(&predecessor);
  }
}

/// Readers that are over no longer matter; dropping them when the list doubles keeps it short at O(1) amortised.
void add_reader(AccessState& state, TaskNode& reader) {
  if (!state.readers.empty() && state.readers.back().get() == &reader) return;
  if (state.readers.size() >= 8 && state.readers.size() == state.readers.capacity())
    std::erase_if(state.readers, [](const TaskRef& task) {
      // Failed readers stay: nothing is lost by waiting for one that is over, and order edges carry no failure.
      return task->state.load(std::memory_order_acquire) == TaskState::Done;
    });
  state.readers.emplace_back(&reader);
}

}  // namespace

void infer(TaskNode& waiting, TaskNode& recorded, std::span<const Operand> operands) {
  const DatumLocks locks(operands);
  for (const Operand& operand : operands) {
    if (!reads(operand.access)) continue;
    Datum& datum = operand.region->datum();
    for (const std::uint32_t i : datum.accesses.cover(operand.region->box(), operand.region->slot()))
      if (!datum.accesses[i].state.written && recorded.kind != detail::TaskKind::HostAccess)
        throw UninitialisedRead(fmt::format(
            "task '{}' reads data '{}' (part {}), which nothing has written; fill it first, write it through "
            "Runtime::write, or take it as Out<T> in the kernel",
            recorded.display_name(), operand.region->name(), to_string(datum.accesses[i].box)));
      else if (!datum.accesses[i].state.written && operand.access == Access::Read)
        throw UninitialisedRead(fmt::format(
            "data '{}' (part {}) is read, but nothing has written it; submit a task that writes it first",
            operand.region->name(), to_string(datum.accesses[i].box)));
  }
  for (const Operand& operand : operands) {
    Datum& datum = operand.region->datum();
    for (const std::uint32_t i : datum.accesses.cover(operand.region->box(), operand.region->slot())) {
      AccessState& state = datum.accesses[i].state;
      if (state.writer) depend(*state.writer, waiting, recorded, reads(operand.access));
      if (writes(operand.access)) {
        for (const TaskRef& reader : state.readers) depend(*reader, waiting, recorded, false);
        state.readers.clear();
        state.writer = TaskRef(&recorded);
        state.written = true;
      } else {
        add_reader(state, recorded);
      }
    }
  }
}

}  // namespace hocket::graph
