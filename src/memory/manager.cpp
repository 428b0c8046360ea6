// SPDX-License-Identifier: Apache-2.0
#include "memory/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace hocket::memory {

using detail::Datum;
using detail::Operand;
using detail::TaskNode;

namespace {

Bytes size_of(const Box& box, ElementType element) { return Bytes{box.shape.elements() * element.bytes}; }

}  // namespace

Manager::Manager(const platform::Machine& machine, TransferSink& sink)
    : machine_(machine), sink_(sink), routes_(machine), nodes_(machine.nodes().size()) {}

DatumReplicas& Manager::replicas_of(Datum& datum) {
  if (datum.replicas == nullptr) {
    auto replicas = std::make_unique<DatumReplicas>(datum, *this);
    attached_.insert(&datum);
    datum.replicas = replicas.release();
  }
  return *datum.replicas;
}

void Manager::detach(Datum& datum) noexcept {
  const std::lock_guard lock(mutex_);
  const std::unique_ptr<DatumReplicas> replicas(std::exchange(datum.replicas, nullptr));
  if (!replicas) return;
  for (const auto& replica : replicas->all())
    if (replica->number != 0 && replica->memory != nullptr) free_memory(*replica);
  attached_.erase(&datum);
}

std::vector<Datum*> Manager::attached() {
  const std::lock_guard lock(mutex_);
  std::vector<Datum*> data;
  for (Datum* datum : attached_)
    if (datum->try_add_reference()) data.push_back(datum);
  return data;
}

void Manager::detach_all() noexcept {
  while (true) {
    Datum* datum = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (attached_.empty()) return;
      datum = *attached_.begin();
    }
    detach(*datum);
  }
}

// ---- blocks ------------------------------------------------------------------------------------------------

void Manager::pin(Replica& replica) noexcept {
  ++replica.pins;
  replica.last_use = ++uses_;
}

void Manager::unpin(Replica& replica) noexcept {
  if (--replica.pins != 0) return;
  Node& node = nodes_[index(replica.node)];
  if (!node.wanted) return;
  node.wanted = false;
  sink_.room_made(replica.node);
}

void Manager::free_block(Replica& replica) noexcept {
  DatumReplicas& replicas = replicas_of(*replica.datum);
  for (std::uint32_t i = 0; i < replicas.parts.size(); ++i)
    invalidate(replicas.parts[i].state, replica.number);
  free_memory(replica);
}

void Manager::free_memory(Replica& replica) noexcept {
  Node& node = nodes_[index(replica.node)];
  if (replica.node == kHostNode)
    std::free(replica.memory);
  else
    machine_.node(replica.node).device->release(replica.memory);
  replica.memory = nullptr;
  node.used -= replica.bytes;
  std::erase(node.allocated, &replica);
}

/// Whether the block can go without loss: each part that it holds exactly is held exactly elsewhere too.
bool Manager::clean(Replica& replica) {
  DatumReplicas& replicas = replicas_of(*replica.datum);
  for (const std::uint32_t i : replicas.parts.cover(replica.box, replica.slot)) {
    PartStates& part = replicas.parts[i].state;
    const PartState* own = state_in(part, replica.number);
    if (own == nullptr || !own->exact) continue;
    const bool elsewhere =
        std::any_of(part.valid_or_loading.begin(), part.valid_or_loading.end(), [&](const PartState& state) {
          return state.replica != replica.number && state.loading == nullptr && state.exact;
        });
    if (!elsewhere) return false;
  }
  return true;
}

void Manager::write_back(Replica& replica) {
  Datum& datum = *replica.datum;
  if (!datum.try_add_reference()) {  // being destroyed: its contents matter to nobody
    free_block(replica);
    return;
  }
  DatumReplicas& replicas = replicas_of(datum);
  const auto cover = replicas.parts.cover(replica.box, replica.slot);
  Parts dirty;
  for (const std::uint32_t i : cover) {
    const PartState* own = state_in(replicas.parts[i].state, replica.number);
    if (own != nullptr && own->exact) dirty.push_back(i);
  }
  const bool all = dirty.size() == cover.size();
  const Box box = replica.box;
  ensure(replicas, dirty, all ? &box : nullptr, replicas.home(),
         {nullptr, nullptr, TransferReason::Eviction, 0});
  datum.release();  // the transfers hold references of their own
}

/// Frees unused blocks, least recently used first, until `needed` bytes fit. Blocks that hold the only copy are
/// written back first, which takes time: then the answer is no, and `room_made` will follow.
bool Manager::make_room(MemoryNodeId id, Bytes needed) {
  Node& node = nodes_[index(id)];
  const Bytes capacity = machine_.node(id).capacity;
  Bytes coming{};
  while (node.used + needed > capacity + coming) {
    Replica* oldest = nullptr;
    for (Replica* replica : node.allocated)
      if (replica->pins == 0 && (oldest == nullptr || replica->last_use < oldest->last_use)) oldest = replica;
    if (oldest == nullptr) return false;
    if (clean(*oldest)) {
      free_block(*oldest);
    } else {
      const Bytes bytes = oldest->bytes;
      write_back(*oldest);  // pins it, or frees it
      if (oldest->memory != nullptr) coming += bytes;
    }
  }
  return node.used + needed <= capacity;
}

/// Gives the replica a block. False where there is no room now.
bool Manager::allocate(Replica& replica, bool may_evict) {
  if (replica.memory != nullptr) return true;
  Node& node = nodes_[index(replica.node)];
  if (replica.node == kHostNode) {
    constexpr std::size_t kAlignment = 64;
    const Bytes bytes = size_of(replica.box, replica.format.element);
    replica.memory = std::aligned_alloc(kAlignment, (bytes.count + kAlignment - 1) / kAlignment * kAlignment);
    if (replica.memory == nullptr)
      throw OutOfMemory(fmt::format("the host has no {} bytes for a copy of data '{}' as {}", bytes.count,
                                    replica.datum->name(), to_string(replica.format)));
    replica.bytes = bytes;
  } else {
    Device& device = *machine_.node(replica.node).device;
    const Bytes bytes = device.footprint(replica.box.shape, replica.format);
    if (node.used + bytes > machine_.node(replica.node).capacity &&
        !(may_evict && make_room(replica.node, bytes)))
      return false;
    while (true) {
      try {
        replica.memory = device.allocate(replica.box.shape, replica.format);
        break;
      } catch (const OutOfMemory&) {
        // Less than the capacity is used, but not in one piece, or the device has less than it says.
        if (!may_evict) return false;
        const auto unused = std::find_if(node.allocated.begin(), node.allocated.end(),
                                         [](const Replica* other) { return other->pins == 0; });
        if (unused == node.allocated.end()) return false;
        if (!clean(**unused)) {
          write_back(**unused);
          return false;
        }
        free_block(**unused);
      }
    }
    replica.bytes = bytes;
  }
  node.used += replica.bytes;
  node.allocated.push_back(&replica);
  replica.datum->host_only.store(false, std::memory_order_relaxed);
  all_at_home_.store(false, std::memory_order_relaxed);
  return true;
}

Replica& Manager::replica_for(const Operand& operand, MemoryNodeId node, Format format) {
  Datum& datum = operand.region->datum();
  DatumReplicas& replicas = replicas_of(datum);
  if (node == kHostNode && format == replicas.home().format) return replicas.home();
  return replicas.find_or_make(node, format, operand.region->box(), operand.region->slot());
}

// ---- tasks -------------------------------------------------------------------------------------------------

void Manager::rollback(TaskNode& task) noexcept {
  for (Operand& operand : task.operands()) {
    if (operand.bound == nullptr) continue;
    Replica& replica = *operand.bound;
    operand.bound = nullptr;
    // Not `unpin`: the room that a failed attempt gives back is no news to those who wait.
    --replica.pins;
  }
}

Acquisition Manager::acquire(TaskNode& task, const DeviceInfo& device, std::span<const Format> formats) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < task.operands().size(); ++i) {
    Replica& replica = replica_for(task.operands()[i], device.memory_node, formats[i]);
    pin(replica);
    task.operands()[i].bound = &replica;
  }
  for (const Operand& operand : task.operands()) {
    if (allocate(*operand.bound, true)) continue;
    rollback(task);
    Node& node = nodes_[index(device.memory_node)];
    const bool in_use = std::any_of(node.allocated.begin(), node.allocated.end(),
                                    [](const Replica* replica) { return replica->pins != 0; });
    if (in_use) {
      node.wanted = true;
      return Acquisition::NoRoom;
    }
    throw OutOfMemory(
        fmt::format("the operands of task '{}' do not fit into the memory of {} ({} bytes), even with "
                    "nothing else there; use "
                    "smaller tiles, another device, or a higher limit",
                    task.display_name(), device.label, machine_.node(device.memory_node).capacity.count));
  }

  task.extra().missing_operands.store(1, std::memory_order_relaxed);
  try {
    for (const Operand& operand : task.operands()) {
      if (!reads(operand.access)) continue;
      DatumReplicas& replicas = replicas_of(operand.region->datum());
      const Box box = operand.region->box();
      const auto cover = replicas.parts.cover(box, operand.region->slot());
      ensure(replicas, Parts(cover.begin(), cover.end()), &box, *operand.bound,
             {&task, nullptr, TransferReason::Fetch, task.priority()});
    }
    for (const Operand& operand : task.operands())
      if (writes(operand.access)) own_for_writing(replicas_of(operand.region->datum()), operand, task);
  } catch (...) {
    // Copies for it may be under way already; it fails once they are over.
    task.extra().transfer_failure = std::current_exception();
  }
  return task.extra().missing_operands.fetch_sub(1, std::memory_order_acq_rel) == 1 ? Acquisition::Present
                                                                                    : Acquisition::Loading;
}

void Manager::release(TaskNode& task) noexcept {
  const std::lock_guard lock(mutex_);
  for (Operand& operand : task.operands()) {
    if (operand.bound == nullptr) continue;
    unpin(*operand.bound);
    operand.bound = nullptr;
  }
}

void Manager::prefetch(TaskNode& task, const DeviceInfo& device, std::span<const Format> formats) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < task.operands().size(); ++i) {
    const Operand& operand = task.operands()[i];
    if (!reads(operand.access)) continue;
    Replica& replica = replica_for(operand, device.memory_node, formats[i]);
    if (!allocate(replica, false)) return;
    replica.last_use = ++uses_;
    DatumReplicas& replicas = replicas_of(operand.region->datum());
    const Box box = operand.region->box();
    const auto cover = replicas.parts.cover(box, operand.region->slot());
    try {
      ensure(replicas, Parts(cover.begin(), cover.end()), &box, replica,
             {nullptr, nullptr, TransferReason::Fetch, task.priority()});
    } catch (const Error&) {
      return;  // `acquire` will meet it again, and can report it
    }
  }
}

/// The task may write the parts once every copy that fills or reads them is over; from now on they are valid in
/// its replica only.
void Manager::own_for_writing(DatumReplicas& replicas, const Operand& operand, TaskNode& task) {
  for (const std::uint32_t i : replicas.parts.cover(operand.region->box(), operand.region->slot())) {
    PartStates& part = replicas.parts[i].state;
    PartState mine{operand.bound->number, nullptr, true};
    for (const PartState& state : part.valid_or_loading) {
      if (state.loading == nullptr) continue;
      wait_for(*state.loading, {&task, nullptr});
      if (state.replica == mine.replica) mine.loading = state.loading;
    }
    if (mine.loading != nullptr) mine.loading->exact = true;
    part.valid_or_loading.assign(1, mine);
  }
}

Manager::Missing Manager::missing(TaskNode& task, const DeviceInfo& device, std::span<const Format> formats) {
  const std::lock_guard lock(mutex_);
  Missing result;
  for (std::size_t i = 0; i < task.operands().size(); ++i) {
    const Operand& operand = task.operands()[i];
    if (!reads(operand.access)) continue;
    DatumReplicas& replicas = replicas_of(operand.region->datum());
    const bool home = device.memory_node == kHostNode && formats[i] == replicas.home().format;
    const Replica* target =
        home ? &replicas.home() : replicas.find(device.memory_node, formats[i], operand.region->box());
    Replica imagined;
    imagined.node = device.memory_node;
    imagined.format = formats[i];
    Bytes bytes{};
    const Route* route = nullptr;
    for (const std::uint32_t part : replicas.parts.cover(operand.region->box(), operand.region->slot())) {
      if (target != nullptr && state_in(replicas.parts[part].state, target->number) != nullptr) continue;
      bytes += size_of(replicas.parts[part].box, operand.region->datum().element());
      const Source source = best_source(replicas, part, target != nullptr ? *target : imagined);
      if (source.route != nullptr) route = source.route;
    }
    result.bytes += bytes;
    if (route != nullptr) result.seconds += route->estimate(bytes);
  }
  return result;
}

Bytes Manager::footprint(std::span<const Operand> operands, const DeviceInfo& device,
                         std::span<const Format> formats) const {
  Bytes total{};
  if (device.memory_node == kHostNode) return total;
  const std::lock_guard lock(mutex_);  // the device answers one question at a time
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool seen = false;
    for (std::size_t j = 0; j < i; ++j)
      seen = seen || (operands[j].region == operands[i].region && formats[j] == formats[i]);
    if (!seen)
      total +=
          machine_.node(device.memory_node).device->footprint(operands[i].region->box().shape, formats[i]);
  }
  return total;
}

Manager::Reachable Manager::reachable(const Datum& datum, const DeviceInfo& device, Format format,
                                      Access access) {
  const std::lock_guard lock(mutex_);
  const Place home{kHostNode, {datum.element(), Layout::RowMajor}};
  const Place there{device.memory_node, format};
  Reachable result;
  if (reads(access)) {
    const Route* route = routes_.find(home, there);
    result.possible = result.possible && route != nullptr;
    result.lossy = result.lossy || (route != nullptr && route->lossy);
  }
  if (writes(access)) {
    const Route* route = routes_.find(there, home);
    result.possible = result.possible && route != nullptr;
    result.lossy = result.lossy || (route != nullptr && route->lossy);
  }
  return result;
}

// ---- transfers ---------------------------------------------------------------------------------------------

void Manager::wait_for(Transfer& transfer, const Waiter& waiter) {
  if (waiter.task != nullptr) {
    if (std::find(transfer.tasks.begin(), transfer.tasks.end(), waiter.task) != transfer.tasks.end()) return;
    transfer.tasks.push_back(waiter.task);
    waiter.task->extra().missing_operands.fetch_add(1, std::memory_order_relaxed);
  }
  if (waiter.transfer != nullptr && waiter.transfer != &transfer) {
    if (std::find(transfer.successors.begin(), transfer.successors.end(), waiter.transfer) !=
        transfer.successors.end())
      return;
    transfer.successors.push_back(waiter.transfer);
    ++waiter.transfer->predecessors;
  }
}

/// The replica from which a part gets cheapest into `to`. One that lost precision serves only its own type.
Manager::Source Manager::best_source(DatumReplicas& replicas, std::uint32_t part, const Replica& to) {
  Source best;
  double best_seconds = 0.0;
  const auto& entry = replicas.parts[part];
  for (const PartState& state : entry.state.valid_or_loading) {
    Replica& replica = replicas[state.replica];
    if (!state.exact && replica.format.element != to.format.element) continue;
    const Route* route = routes_.find({replica.node, replica.format}, {to.node, to.format});
    if (route == nullptr || route->hops.empty()) continue;
    // A lossless route wins over any lossy one; a copy that is still loading costs a wait of unknown length.
    const double seconds = route->estimate(size_of(entry.box, replica.format.element)).count +
                           (route->lossy ? 1e9 : 0.0) + (state.loading != nullptr ? 1e-3 : 0.0);
    if (best.replica != nullptr && seconds >= best_seconds) continue;
    best = {&replica, route, state.exact && !route->lossy};
    best_seconds = seconds;
  }
  return best;
}

void Manager::ensure(DatumReplicas& replicas, const Parts& parts, const Box* box, Replica& to,
                     const Waiter& waiter) {
  struct Group {
    Source source;
    Parts parts;
  };
  std::vector<Group> groups;
  for (const std::uint32_t i : parts) {
    if (PartState* state = state_in(replicas.parts[i].state, to.number)) {
      if (state->loading != nullptr) wait_for(*state->loading, waiter);
      continue;
    }
    const Source source = best_source(replicas, i, to);
    if (source.replica == nullptr)
      throw DeviceError(fmt::format("no way leads from any copy of data '{}' to {} in {}", to.datum->name(),
                                    to_string(to.format), machine_.node(to.node).label));
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.source.replica == source.replica && g.source.exact == source.exact;
    });
    if (group == groups.end())
      groups.push_back({source, {i}});
    else
      group->parts.push_back(i);
  }
  for (Group& group : groups) {
    if (box != nullptr && group.parts.size() == parts.size()) {
      add_transfer(replicas, std::move(group.parts), *box, to, group.source, waiter);
    } else {
      for (const std::uint32_t i : group.parts) {
        const Box part_box = replicas.parts[i].box;
        add_transfer(replicas, {i}, part_box, to, group.source, waiter);
      }
    }
  }
}

/// One step of copying into `to`; where the route has several, the step before it is asked for first.
void Manager::add_transfer(DatumReplicas& replicas, Parts parts, const Box& box, Replica& to,
                           const Source& source, const Waiter& waiter) {
  auto owned = std::make_unique<Transfer>();
  Transfer& transfer = *owned;
  Replica* from = source.replica;
  if (source.route->hops.size() > 1) {
    const Place& before = source.route->hops[source.route->hops.size() - 2].to;
    const Replica& smaller = to.box.contains(source.replica->box) ? *source.replica : to;
    from = before.node == kHostNode && before.format == replicas.home().format
               ? &replicas.home()
               : &replicas.find_or_make(before.node, before.format, smaller.box, smaller.slot);
    if (!allocate(*from, true))
      throw OutOfMemory(fmt::format("no room on {} for an intermediate copy of data '{}'",
                                    machine_.node(from->node).label, to.datum->name()));
  }
  pin(*from);
  pin(to);
  try {
    const Waiter step{nullptr, &transfer, waiter.reason, waiter.priority};
    if (from == source.replica) {
      for (const std::uint32_t i : parts)
        if (PartState* state = state_in(replicas.parts[i].state, from->number);
            state != nullptr && state->loading)
          wait_for(*state->loading, step);
    } else {
      ensure(replicas, parts, &box, *from, step);
    }
  } catch (...) {
    // Others may name this transfer as their successor already: it is carried through as failed.
    transfer.failure = std::current_exception();
  }
  transfer.datum = to.datum;
  transfer.datum->add_reference();
  transfer.from = from;
  transfer.to = &to;
  transfer.box = box;
  transfer.hop = source.route->hops.back();
  transfer.reason = transfer.hop.conversion                                    ? TransferReason::Conversion
                    : waiter.reason == TransferReason::Fetch && to.number == 0 ? TransferReason::WriteBack
                                                                               : waiter.reason;
  transfer.bytes = size_of(box, from->format.element);
  transfer.priority = waiter.priority;
  transfer.exact = source.exact;
  transfer.parts_then = replicas.parts.size();
  for (const std::uint32_t i : parts)
    replicas.parts[i].state.valid_or_loading.push_back({to.number, &transfer, source.exact});
  transfer.parts = std::move(parts);
  wait_for(transfer, waiter);
  static_cast<void>(owned.release());  // `settle` deletes it
  if (transfer.predecessors != 0) return;
  if (!transfer.failure) {
    sink_.start(transfer);
    return;
  }
  std::vector<Datum*> released;
  const std::exception_ptr failure = transfer.failure;
  settle(transfer, failure, released);
  for (Datum* datum : released) datum->release();  // not the last reference: the caller uses the datum
}

void Manager::finish(Transfer& transfer, const std::exception_ptr& failure) {
  std::vector<Datum*> released;
  {
    const std::lock_guard lock(mutex_);
    settle(transfer, failure, released);
  }
  for (Datum* datum : released) datum->release();  // may take the lock
}

void Manager::settle(Transfer& transfer, const std::exception_ptr& failure, std::vector<Datum*>& released) {
  DatumReplicas& replicas = *transfer.datum->replicas;
  const auto settle_part = [&](std::uint32_t i) {
    PartStates& part = replicas.parts[i].state;
    PartState* state = state_in(part, transfer.to->number);
    if (state == nullptr || state->loading != &transfer) return;
    state->loading = nullptr;
    if (failure) invalidate(part, transfer.to->number);
  };
  if (replicas.parts.size() == transfer.parts_then) {
    for (const std::uint32_t i : transfer.parts) settle_part(i);
  } else {  // parts have been split meanwhile
    for (std::uint32_t i = 0; i < replicas.parts.size(); ++i) settle_part(i);
  }
  for (TaskNode* task : transfer.tasks) {
    if (failure) task->extra().transfer_failure = failure;
    if (task->extra().missing_operands.fetch_sub(1, std::memory_order_acq_rel) == 1)
      sink_.operands_present(*task);
  }
  for (Transfer* successor : transfer.successors) {
    if (failure) successor->failure = failure;
    if (--successor->predecessors != 0) continue;
    if (successor->failure)
      settle(*successor, successor->failure, released);
    else
      sink_.start(*successor);
  }
  unpin(*transfer.from);
  unpin(*transfer.to);
  released.push_back(transfer.datum);
  delete &transfer;
}

}  // namespace hocket::memory
