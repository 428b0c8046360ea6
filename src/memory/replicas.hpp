// SPDX-License-Identifier: Apache-2.0
/// Where the valid copies of a datum are: its replicas, each a (memory node, format) that holds one box, and for
/// each part of the datum the state of that part in each replica. All of it is guarded by the memory
/// manager's lock.
#pragma once

#include <cstdint>
#include <hocket/format.hpp>
#include <hocket/types.hpp>
#include <memory>
#include <vector>

#include "graph/box_map.hpp"

namespace hocket::detail {
class Datum;
}

namespace hocket::memory {

struct Transfer;

/// One block of memory that holds a box of a datum in one format. The home replica is number 0: the whole,
/// row-major, in the host's memory; its block belongs to the datum.
struct Replica {
  detail::Datum* datum = nullptr;
  std::uint32_t number = 0;  ///< Within the datum.
  std::uint32_t slot = 0;    ///< Of the region with the same box.
  MemoryNodeId node{};
  Format format;
  Box box;
  void* memory = nullptr;  ///< Null while nothing is allocated.
  Strides strides{};
  Bytes bytes{};               ///< What it takes from its node's capacity.
  std::uint32_t pins = 0;      ///< Tasks and transfers that use the block: it may not be released.
  std::uint64_t last_use = 0;  ///< Of the manager's use counter: the least is evicted first.
};

/// State of one part of a datum in one replica; parts that are not listed are invalid there.
struct PartState {
  std::uint32_t replica = 0;
  Transfer* loading = nullptr;  ///< The transfer that will make it valid; null where it is valid.
  /// Whether it holds what was written, rather than what a lossy conversion left of it: such a copy is never the
  /// source of a more precise one, nor the last one left.
  bool exact = true;
};

struct PartStates {
  std::vector<PartState> valid_or_loading;
};

class Manager;

class DatumReplicas {
 public:
  DatumReplicas(detail::Datum& datum, Manager& manager);

  Manager& manager() const noexcept { return manager_; }

  Replica& home() noexcept { return *replicas_[0]; }
  /// The replica of exactly that box, node and format; made (without memory) where there is none.
  Replica& find_or_make(MemoryNodeId node, Format format, const Box& box, std::uint32_t slot);
  /// The same, or null.
  Replica* find(MemoryNodeId node, Format format, const Box& box) noexcept;
  Replica& operator[](std::uint32_t number) noexcept { return *replicas_[number]; }
  const std::vector<std::unique_ptr<Replica>>& all() const noexcept { return replicas_; }

  graph::BoxMap<PartStates> parts;

 private:
  Manager& manager_;
  std::vector<std::unique_ptr<Replica>> replicas_;
};

/// The entry for a replica among the states of a part, or null.
PartState* state_in(PartStates& part, std::uint32_t replica) noexcept;
/// Makes the part invalid in that replica.
void invalidate(PartStates& part, std::uint32_t replica) noexcept;

}  // namespace hocket::memory
