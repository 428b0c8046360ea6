// SPDX-License-Identifier: Apache-2.0
#include "trace/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <utility>

namespace hocket::trace {
namespace {

template <class Event>
bool is_drawable(const Event& event) {
  return std::isfinite(event.begin.count) && std::isfinite(event.end.count);
}

std::string link_name(const std::string& from, const std::string& to) {
  return from == to ? "conversion in " + from : from + " → " + to;
}

// Gives each event the lowest row that is free when it begins (interval partitioning: as few rows as
// possible).
template <class Event>
void assign_rows(Lane& lane, const std::vector<Event>& events) {
  std::stable_sort(lane.events.begin(), lane.events.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(events[a].begin, events[a].end) < std::pair(events[b].begin, events[b].end);
  });
  using Ending = std::pair<double, std::uint32_t>;  // when a row becomes free
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> busy;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_rows;
  std::uint32_t rows = 0;
  lane.rows.reserve(lane.events.size());
  for (const std::size_t i : lane.events) {
    while (!busy.empty() && busy.top().first <= events[i].begin.count) {
      free_rows.push(busy.top().second);
      busy.pop();
    }
    std::uint32_t row = rows;
    if (free_rows.empty()) {
      ++rows;
    } else {
      row = free_rows.top();
      free_rows.pop();
    }
    lane.rows.push_back(row);
    busy.emplace(std::max(events[i].begin, events[i].end).count, row);
  }
  lane.row_count = std::max(rows, 1u);
}

}  // namespace

std::string device_name(const Report& report, DeviceId id) {
  for (const DeviceReport& device : report.devices)
    if (device.id == id && !device.name.empty()) return device.name;
  return fmt::format("device {}", index(id));
}

std::vector<Lane> make_lanes(const Report& report) {
  std::vector<Lane> lanes;
  std::map<std::pair<DeviceId, std::uint32_t>, std::vector<std::size_t>> by_worker;
  for (std::size_t i = 0; i < report.task_events.size(); ++i) {
    const TaskEvent& event = report.task_events[i];
    if (is_drawable(event)) by_worker[{event.device, event.worker}].push_back(i);
  }
  const auto add_device = [&](DeviceId id, const std::string& kind, std::uint32_t workers) {
    // Workers beyond those that the device states are shown where they did something.
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t w = 0; w < workers; ++w) numbers.push_back(w);
    for (auto it = by_worker.lower_bound({id, workers}); it != by_worker.end() && it->first.first == id; ++it)
      numbers.push_back(it->first.second);
    const std::string name = device_name(report, id);
    for (const std::uint32_t worker : numbers) {
      Lane& lane = lanes.emplace_back();
      lane.owner = name;
      lane.detail = kind;
      lane.device = id;
      lane.worker = worker;
      lane.first_of_owner = worker == numbers.front();
      lane.only_of_owner = numbers.size() == 1;
      const auto found = by_worker.find({id, worker});
      if (found == by_worker.end()) continue;
      lane.events = std::move(found->second);
      by_worker.erase(found);
    }
  };
  for (const DeviceReport& device : report.devices) add_device(device.id, device.kind, device.workers);
  while (!by_worker.empty()) add_device(by_worker.begin()->first.first, "", 0);
  for (Lane& lane : lanes) assign_rows(lane, report.task_events);

  const std::size_t first_link = lanes.size();
  std::map<std::pair<std::string, std::string>, std::size_t> link_lanes;
  const auto link_lane = [&](const std::string& from, const std::string& to) -> Lane& {
    const auto [place, is_new] = link_lanes.try_emplace({from, to}, lanes.size());
    if (is_new) {
      Lane& lane = lanes.emplace_back();
      lane.kind = LaneKind::Link;
      lane.owner = link_name(from, to);
    }
    return lanes[place->second];
  };
  for (const LinkReport& link : report.links) link_lane(link.from, link.to);
  for (std::size_t i = 0; i < report.transfer_events.size(); ++i) {
    const TransferEvent& event = report.transfer_events[i];
    if (is_drawable(event)) link_lane(event.from, event.to).events.push_back(i);
  }
  for (std::size_t i = first_link; i < lanes.size(); ++i) assign_rows(lanes[i], report.transfer_events);
  return lanes;
}

}  // namespace hocket::trace
