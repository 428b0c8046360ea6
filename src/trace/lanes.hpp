// SPDX-License-Identifier: Apache-2.0
/// The events of a report sorted into lanes: one for each worker of each device and one for each direction of
/// each link, which is what every picture of a run is drawn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/report.hpp>
#include <string>
#include <vector>

namespace hocket::trace {

enum class LaneKind : std::uint8_t { Worker, Link };

/// Events (indices into `Report::task_events` or `Report::transfer_events`) in order of their begin. Events
/// that overlap in time, which happens where a device or link works on several at once, have different rows;
/// a row never holds two at the same time.
struct Lane {
  LaneKind kind = LaneKind::Worker;
  std::string owner;         ///< The device; for a link "host → opencl:0", or "conversion in host".
  std::string detail;        ///< Worker: its device's kind.
  DeviceId device{};         ///< Worker only.
  std::uint32_t worker = 0;  ///< Worker only.
  bool first_of_owner = true;
  bool only_of_owner = true;
  std::vector<std::size_t> events;
  std::vector<std::uint32_t> rows;  ///< Of each event.
  std::uint32_t row_count = 1;
};

/// Lanes of devices in the report's order with all their workers, busy or not, then the links that the report
/// or its events name. Devices that only events name come last. Events whose times are not finite are left
/// out; one that ends before it begins counts as ending there. O(n log n).
std::vector<Lane> make_lanes(const Report& report);

/// Name of a device for people; "device 3" where it has none.
std::string device_name(const Report& report, DeviceId id);

}  // namespace hocket::trace
