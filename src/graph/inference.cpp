// SPDX-License-Identifier: Apache-2.0
#include "graph/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace hocket::graph {
namespace {

using detail::AccessState;
using detail::DataAccess;
using detail::Datum;
using detail::TaskNode;

/// Locks the distinct datums of some operands in order of their addresses.
class DatumLocks {
 public:
  explicit DatumLocks(std::span<const DataAccess> operands) {
    if (operands.size() > few_.size()) {
      for (const DataAccess& operand : operands) many_.push_back(&operand.region->datum());
      std::sort(many_.begin(), many_.end(), std::less<>());
      many_.erase(std::unique(many_.begin(), many_.end()), many_.end());
      for (Datum* datum : many_) datum->access_lock.lock();
      return;
    }
    for (const DataAccess& operand : operands) {
      Datum* const datum = &operand.region->datum();
      std::size_t place = count_;
      while (place > 0 && std::less<>()(datum, few_[place - 1])) --place;
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

/// Calls `visit(state)` for each part of an operand. Returns whether its datum has several.
template <class Function>
inline bool for_each_part(const DataAccess& operand, Function&& visit) {
  Datum& datum = operand.region->datum();
  AccessState* const only = operand.region->is_whole() ? datum.only_access() : nullptr;
  if (only != nullptr) {
    visit(*only);
    return false;
  }
  datum.for_each_access(*operand.region, [&](const Box&, AccessState& state) { visit(state); });
  return true;
}

void check_written(const TaskNode& recorded, const DataAccess& operand) {
  if (may_read_unwritten(recorded, operand.access)) return;
  operand.region->datum().for_each_access(*operand.region, [&](const Box& part, const AccessState& state) {
    if (!state.written) refuse(recorded, operand, part);
  });
}

/// What destroys a datum must not become ready while the datum is locked: it waits for the unlocking, too.
std::uint32_t held_back(const TaskNode& waiting) noexcept {
  return waiting.kind == detail::TaskKind::Retirement ? 1 : 0;
}

bool infer_locked(InferenceScratch& scratch, TaskNode& waiting, TaskNode& recorded,
                  std::span<const DataAccess> operands, std::span<const Task> after, std::uint32_t held) {
  std::uint32_t most = 0;
  std::uint32_t references = 0;
  bool parted = false;
  // Nothing changes before it is sure that nothing is refused.
  const auto count = [&] {
    most = static_cast<std::uint32_t>(after.size());
    references = 0;
    for (const DataAccess& operand : operands) {
      bool written = true;
      parted = for_each_part(operand,
                             [&](const AccessState& state) {
                               written = written && state.written;
                               ++references;
                               most += count_edges(state, operand.access);
                             }) ||
               parted;
      if (!written && reads(operand.access)) [[unlikely]]
        check_written(recorded, operand);
    }
  };
  count();
  // One operand may have cut through what an earlier one had counted as one part.
  if (parted && operands.size() > 1) count();
  waiting.make_edges(most, scratch.blocks);
  // The task is nobody else's yet, so that its count may change by a plain store.
  recorded.references.store(recorded.references.load(std::memory_order_relaxed) + references,
                            std::memory_order_relaxed);
  Linker linker(waiting, recorded, most, held);
  for (const DataAccess& operand : operands)
    for_each_part(operand, [&](AccessState& state) { linker.access(scratch, state, operand.access); });
  for (const Task& earlier : after) linker.link(*earlier.node(), true);
  return linker.ready();
}

}  // namespace

bool infer(InferenceScratch& scratch, TaskNode& waiting, TaskNode& recorded,
           std::span<const DataAccess> operands, std::span<const Task> after, bool alone) {
  const std::uint32_t held = held_back(waiting);
  bool ready = false;
  if (alone) {
    ready = infer_locked(scratch, waiting, recorded, operands, after, held);
  } else {
    const DatumLocks locks(operands);
    ready = infer_locked(scratch, waiting, recorded, operands, after, held);
  }
  return ready || (held != 0 && waiting.pending.fetch_sub(1, std::memory_order_acq_rel) == 1);
}

}  // namespace hocket::graph
