// SPDX-License-Identifier: Apache-2.0
#include "memory/replicas.hpp"

#include <algorithm>

#include "graph/datum.hpp"
#include "memory/manager.hpp"

namespace hocket::memory {

DatumReplicas::DatumReplicas(detail::Datum& datum, Manager& manager)
    : parts(datum.whole().box(), PartStates{{PartState{}}}), manager_(manager) {
  auto home = std::make_unique<Replica>();
  home->datum = &datum;
  home->node = kHostNode;
  home->format = {datum.element(), Layout::RowMajor};
  home->box = datum.whole().box();
  home->memory = datum.home();
  home->strides = datum.home_strides();
  replicas_.push_back(std::move(home));
}

Replica* DatumReplicas::find(MemoryNodeId node, Format format, const Box& box) noexcept {
  for (const auto& replica : replicas_)
    if (replica->node == node && replica->format == format && (replica->number == 0 || replica->box == box))
      return replica.get();
  return nullptr;
}

Replica& DatumReplicas::find_or_make(MemoryNodeId node, Format format, const Box& box, std::uint32_t slot) {
  if (Replica* found = find(node, format, box)) return *found;
  auto replica = std::make_unique<Replica>();
  replica->datum = home().datum;
  replica->number = static_cast<std::uint32_t>(replicas_.size());
  replica->slot = slot;
  replica->node = node;
  replica->format = format;
  replica->box = box;
  replica->strides = dense_strides(box.shape);
  replicas_.push_back(std::move(replica));
  return *replicas_.back();
}

PartState* state_in(PartStates& part, std::uint32_t replica) noexcept {
  for (PartState& state : part.valid_or_loading)
    if (state.replica == replica) return &state;
  return nullptr;
}

void invalidate(PartStates& part, std::uint32_t replica) noexcept {
  std::erase_if(part.valid_or_loading, [&](const PartState& state) { return state.replica == replica; });
}

}  // namespace hocket::memory

namespace hocket::detail {

void detach(Datum& datum) noexcept { datum.replicas->manager().detach(datum); }

}  // namespace hocket::detail
