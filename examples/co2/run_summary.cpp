// SPDX-License-Identifier: Apache-2.0
#include "co2/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "co2/markup.hpp"

namespace hocket::jobs::co2 {
namespace {

std::string show_share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * part / whole) : std::string("–");
}

const DeviceReport* find_device(const Report& report, DeviceId id) {
  for (const DeviceReport& device : report.devices)
    if (device.id == id) return &device;
  return nullptr;
}

/// The first word of a name such as "cpu:0 (AMD EPYC)": pages are narrow.
std::string short_name(const DeviceReport& device) { return device.name.substr(0, device.name.find(" (")); }

/// The names in full, for below a heading.
std::string full_names(const Report& report) {
  std::string names;
  for (const DeviceReport& device : report.devices) {
    if (device.name != short_name(device)) names += (names.empty() ? "" : "; ") + device.name;
  }
  return names.empty() ? names : names + ". ";
}

/// A lane of its own for each worker of a device.
std::string lane_name(const DeviceReport& device, std::uint32_t worker) {
  return device.workers > 1 ? fmt::format("{}, worker {}", short_name(device), worker) : short_name(device);
}

/// One bar for each run of neighbours of a kind in a lane that are shorter than `grain` and nearer than that.
std::vector<TimelineBar> merged(const std::vector<TimelineBar>& bars, double grain) {
  std::vector<TimelineBar> result;
  std::vector<std::size_t> counts;
  std::map<std::string, std::size_t> last_of_lane;
  for (const TimelineBar& bar : bars) {
    const auto last = last_of_lane.find(bar.lane);
    if (last != last_of_lane.end()) {
      TimelineBar& before = result[last->second];
      const bool is_small = bar.end_seconds - bar.begin_seconds < grain &&
                            (counts[last->second] > 1 || before.end_seconds - before.begin_seconds < grain);
      if (is_small && before.kind == bar.kind && bar.begin_seconds - before.end_seconds < grain) {
        before.end_seconds = std::max(before.end_seconds, bar.end_seconds);
        before.name = fmt::format("{} × {}", ++counts[last->second], bar.kind);
        continue;
      }
    }
    last_of_lane[bar.lane] = result.size();
    counts.push_back(1);
    result.push_back(bar);
  }
  return result;
}

}  // namespace

std::string show_seconds(Seconds time) {
  if (!std::isfinite(time.count)) return "–";
  if (std::abs(time.count) >= 1.0) return significant(time.count, 3) + " s";
  if (std::abs(time.count) >= 1e-3) return significant(time.count * 1e3, 3) + " ms";
  return significant(time.count * 1e6, 3) + " µs";
}

std::string show_bytes(Bytes size) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(size.count);
  std::size_t unit = 0;
  for (; amount >= 1024.0 && unit + 1 < kUnits.size(); ++unit) amount /= 1024.0;
  return (unit == 0 ? fmt::format("{}", size.count) : significant(amount, 3)) + " " + kUnits[unit];
}

std::string show_rate(double flops, Seconds time) {
  return time.count > 0 ? significant(flops / time.count / 1e9, 3) + " GFLOP/s" : std::string("–");
}

Table device_table(const Report& report) {
  Table table{"Devices",
              full_names(report) +
                  "Busy is the sum over a device's workers; in use is its share of the makespan times the "
                  "workers; GFLOP/s while busy.",
              {"Device", "Tasks", "Share of work", "Busy", "In use", "GFLOP/s"},
              {}};
  bool is_emulated = false;
  for (const DeviceReport& device : report.devices) is_emulated = is_emulated || device.modelled.has_value();
  if (is_emulated) {
    table.columns.emplace_back("Modelled");
    table.note += " Modelled is the time that the hardware behind an emulated device would have taken.";
  }
  for (const DeviceReport& device : report.devices) {
    table.rows.push_back(
        {short_name(device), fmt::format("{}", device.tasks), show_share(device.flops, report.flops),
         show_seconds(device.busy),
         show_share(device.busy.count, report.makespan.count * std::max(device.workers, 1u)),
         device.busy.count > 0 ? significant(device.flops / device.busy.count / 1e9, 3) : std::string("–")});
    if (is_emulated)
      table.rows.back().push_back(device.modelled ? show_seconds(*device.modelled) : std::string("–"));
  }
  return table;
}

Table link_table(const Report& report) {
  Table table{"Links", "", {"From and to", "Copies", "Moved", "Busy"}, {}};
  for (const LinkReport& link : report.links) {
    if (link.copies == 0) continue;
    table.rows.push_back({link.from + " → " + link.to, fmt::format("{}", link.copies), show_bytes(link.bytes),
                          show_seconds(link.busy)});
  }
  if (table.rows.empty()) table.note = "Nothing moved: every task ran in the host's memory.";
  return table;
}

Table codelet_table(const Report& report) {
  Table table{"Kernels", "", {"Kernel", "Tasks", "Busy", "Share of the busy time"}, {}};
  struct Total {
    std::size_t tasks = 0;
    Seconds busy{};
  };
  std::map<std::string, Total> totals;
  double all = 0;
  for (const TaskEvent& event : report.task_events) {
    Total& total = totals[event.codelet];
    ++total.tasks;
    total.busy += event.end - event.begin;
    all += (event.end - event.begin).count;
  }
  std::vector<std::pair<std::string, Total>> ranked(totals.begin(), totals.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second.busy > b.second.busy; });
  for (const auto& [name, total] : ranked) {
    table.rows.push_back(
        {name, fmt::format("{}", total.tasks), show_seconds(total.busy), show_share(total.busy.count, all)});
  }
  return table;
}

std::vector<TimelineBar> timeline(const Report& report, std::size_t most) {
  std::vector<TimelineBar> bars;
  for (const TaskEvent& event : report.task_events) {
    const DeviceReport* const device = find_device(report, event.device);
    std::string lane =
        device != nullptr ? lane_name(*device, event.worker) : fmt::format("device {}", index(event.device));
    bars.push_back({std::move(lane), event.name, event.begin.count, event.end.count, event.codelet});
  }
  for (const TransferEvent& event : report.transfer_events) {
    bars.push_back({event.from == event.to ? "conversion in " + event.from : event.from + " → " + event.to,
                    fmt::format("{}, {}", event.data, show_bytes(event.bytes)), event.begin.count,
                    event.end.count, event.reason == TransferReason::Conversion ? "conversion" : "copy"});
  }
  if (bars.empty()) return bars;
  // Lanes appear in order of first mention: devices as the report has them, then links.
  std::map<std::string, std::size_t> order;
  for (const DeviceReport& device : report.devices) {
    for (std::uint32_t worker = 0; worker < std::max(device.workers, 1u); ++worker) {
      order.emplace(lane_name(device, worker), order.size());
    }
  }
  for (const TimelineBar& bar : bars) order.emplace(bar.lane, order.size());
  std::stable_sort(bars.begin(), bars.end(), [&](const TimelineBar& a, const TimelineBar& b) {
    return std::pair(order.at(a.lane), a.begin_seconds) < std::pair(order.at(b.lane), b.begin_seconds);
  });
  double end = bars.front().end_seconds;
  double begin = bars.front().begin_seconds;
  for (const TimelineBar& bar : bars) {
    begin = std::min(begin, bar.begin_seconds);
    end = std::max(end, bar.end_seconds);
  }
  std::vector<TimelineBar> drawn = bars;
  // The grain doubles until the number fits or a bar could be the whole of the time.
  for (double grain = (end - begin) / 8192.0; drawn.size() > most && grain < end - begin; grain *= 2.0)
    drawn = merged(bars, grain);
  return drawn;
}

}  // namespace hocket::jobs::co2
