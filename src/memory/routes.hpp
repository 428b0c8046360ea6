// SPDX-License-Identifier: Apache-2.0
/// The graph of copies and conversions. Its vertices are (memory node, format) pairs; an edge is a copy that a device
/// can do, or a conversion on the host. Moving and converting are one search for the cheapest path.
#pragma once

#include <hocket/format.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

#include "memory/host_copy.hpp"
#include "platform/machine.hpp"

namespace hocket::memory {

/// A vertex: where and in which format.
struct Place {
  MemoryNodeId node{};
  Format format;

  friend constexpr bool operator==(const Place&, const Place&) noexcept = default;
};

/// One edge on a route.
struct Hop {
  Place to;
  /// The device that copies; null for a copy or conversion by the host.
  Device* device = nullptr;
  MemoryNodeId device_node{};
  CopyDirection direction = CopyDirection::HostToDevice;
  std::optional<Conversion> conversion;  ///< Host conversions of the element type.
};

struct Route {
  std::vector<Hop> hops;
  double seconds_per_byte = 0.0;  ///< Sum over the hops, at nominal speeds.
  Seconds latency{};
  bool lossy = false;  ///< Whether a conversion on the way may change values.

  Seconds estimate(Bytes bytes) const noexcept {
    return latency + Seconds{seconds_per_byte * static_cast<double>(bytes.count)};
  }
};

/// Finds routes and keeps them. Not thread-safe (the memory manager's lock guards it).
class Routes {
 public:
  explicit Routes(const platform::Machine& machine) : machine_(machine) {}

  /// The cheapest route for a block of a mebibyte, preferring, at any cost, one that loses no precision; null where
  /// none exists. Where both places are the same, the way from one block to another one there. The pointer
  /// stays valid.
  const Route* find(const Place& from, const Place& to);

 private:
  std::optional<Route> between_blocks(const Place& place) const;
  std::optional<Route> search(const Place& from, const Place& to) const;

  struct Key {
    Place from;
    Place to;
    friend bool operator==(const Key&, const Key&) noexcept = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  const platform::Machine& machine_;
  std::unordered_map<Key, std::optional<Route>, KeyHash> found_;
};

}  // namespace hocket::memory
