// SPDX-License-Identifier: Apache-2.0
#include "memory/routes.hpp"

#include <algorithm>
#include <limits>

namespace hocket::memory {
namespace {

constexpr double kTypicalBytes = 1048576.0;
/// Larger than any real cost: a lossy edge is taken only where no exact path exists.
constexpr double kLossyPenaltySeconds = 1e9;

struct Vertex {
  Place place;
  double cost = std::numeric_limits<double>::infinity();
  bool settled = false;
  Route route;
};

Vertex& vertex_of(std::vector<Vertex>& vertices, const Place& place) {
  for (Vertex& vertex : vertices)
    if (vertex.place == place) return vertex;
  vertices.push_back({place, std::numeric_limits<double>::infinity(), false, {}});
  return vertices.back();
}

constexpr Layout kLayouts[] = {Layout::RowMajor, Layout::BankInterleaved, Layout::BankReplicated,
                               Layout::BankPartialSum, Layout::BankSingle};

}  // namespace

std::size_t Routes::KeyHash::operator()(const Key& key) const noexcept {
  const auto mix = [](std::size_t hash, std::size_t value) { return (hash ^ value) * 0x100000001b3u; };
  std::size_t hash = 0xcbf29ce484222325u;
  for (const Place& place : {key.from, key.to}) {
    hash = mix(hash, index(place.node));
    hash = mix(hash, static_cast<std::size_t>(place.format.element.kind));
    hash = mix(hash, place.format.element.bytes);
    hash = mix(hash, static_cast<std::size_t>(place.format.layout));
  }
  return hash;
}

const Route* Routes::find(const Place& from, const Place& to) {
  const Key key{from, to};
  auto known = found_.find(key);
  if (known == found_.end())
    known = found_.emplace(key, from == to ? between_blocks(from) : search(from, to)).first;
  return known->second ? &*known->second : nullptr;
}

/// Between two blocks of one node in one format that hold different boxes: directly where the device can, else out to
/// the host and back in.
std::optional<Route> Routes::between_blocks(const Place& place) const {
  Route route;
  if (place.node == kHostNode) {
    constexpr double kHostBytesPerSecond = 8e9;
    route.hops.push_back({place, nullptr, kHostNode, CopyDirection::WithinDevice, std::nullopt});
    route.seconds_per_byte = 1.0 / kHostBytesPerSecond;
    return route;
  }
  Device& device = *machine_.node(place.node).device;
  if (device.can_copy(CopyDirection::WithinDevice, place.format, place.format)) {
    route.hops.push_back({place, &device, place.node, CopyDirection::WithinDevice, std::nullopt});
    route.latency = device.properties().link_latency;
    route.seconds_per_byte = 1.0 / device.properties().bytes_per_second;
    return route;
  }
  const Place host{kHostNode, {place.format.element, Layout::RowMajor}};
  std::optional<Route> out = search(place, host);
  std::optional<Route> in = search(host, place);
  if (!out || !in) return std::nullopt;
  route = std::move(*out);
  route.hops.insert(route.hops.end(), in->hops.begin(), in->hops.end());
  route.latency += in->latency;
  route.seconds_per_byte += in->seconds_per_byte;
  return route;
}

/// Dijkstra's search. Vertices are made as they are met: on the host, the row-major formats that conversions reach;
/// on a device, the layouts that it can copy from or to.
std::optional<Route> Routes::search(const Place& from, const Place& to) const {
  std::vector<Vertex> vertices;
  vertex_of(vertices, from).cost = 0.0;
  while (true) {
    Vertex* nearest = nullptr;
    for (Vertex& vertex : vertices)
      if (!vertex.settled && (nearest == nullptr || vertex.cost < nearest->cost)) nearest = &vertex;
    if (nearest == nullptr) return std::nullopt;
    nearest->settled = true;
    if (nearest->place == to) return nearest->route;
    const Vertex here = *nearest;  // a copy: `vertices` grows below

    const auto relax = [&](const Hop& hop, Seconds latency, double seconds_per_byte, bool lossy) {
      const double cost =
          here.cost + latency.count + seconds_per_byte * kTypicalBytes + (lossy ? kLossyPenaltySeconds : 0.0);
      Vertex& there = vertex_of(vertices, hop.to);
      if (cost >= there.cost) return;
      there.cost = cost;
      there.route = here.route;
      there.route.latency += latency;
      there.route.seconds_per_byte += seconds_per_byte;
      there.route.lossy = there.route.lossy || lossy;
      there.route.hops.push_back(hop);
    };

    if (here.place.node == kHostNode) {
      for_each_conversion(here.place.format.element, [&](const Conversion& conversion) {
        if (here.place.format.layout != Layout::RowMajor) return;
        const Format format{conversion.to, Layout::RowMajor};
        relax({{kHostNode, format}, nullptr, kHostNode, CopyDirection::WithinDevice, conversion}, Seconds{},
              1.0 / conversion.bytes_per_second, conversion.lossy);
      });
      for (const platform::MemoryNode& node : machine_.nodes()) {
        // Other devices are dead ends: what goes there and is not wanted there would only come back.
        if (node.device == nullptr || node.id != to.node) continue;
        const DeviceProperties& properties = node.device->properties();
        for (const Layout layout : kLayouts) {
          const Format format{here.place.format.element, layout};
          if (node.device->can_hold(format) &&
              node.device->can_copy(CopyDirection::HostToDevice, here.place.format, format))
            relax({{node.id, format}, node.device, node.id, CopyDirection::HostToDevice, std::nullopt},
                  properties.link_latency, 1.0 / properties.link_bytes_per_second, false);
        }
      }
    } else {
      Device& device = *machine_.node(here.place.node).device;
      const DeviceProperties& properties = device.properties();
      for (const Layout layout : kLayouts) {
        const Format format{here.place.format.element, layout};
        if (layout == Layout::RowMajor &&
            device.can_copy(CopyDirection::DeviceToHost, here.place.format, format))
          relax({{kHostNode, format}, &device, here.place.node, CopyDirection::DeviceToHost, std::nullopt},
                properties.link_latency, 1.0 / properties.link_bytes_per_second, false);
        if (format != here.place.format && device.can_hold(format) &&
            device.can_copy(CopyDirection::WithinDevice, here.place.format, format))
          relax({{here.place.node, format},
                 &device,
                 here.place.node,
                 CopyDirection::WithinDevice,
                 std::nullopt},
                properties.link_latency, 1.0 / properties.bytes_per_second, false);
      }
    }
  }
}

}  // namespace hocket::memory
