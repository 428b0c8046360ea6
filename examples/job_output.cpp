// SPDX-License-Identifier: Apache-2.0
#include "job_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "console.hpp"

namespace hocket::jobs {
namespace {

bool any_emulated(const Report& report) {
  return std::any_of(report.devices.begin(), report.devices.end(),
                     [](const DeviceReport& device) { return device.modelled.has_value(); });
}

std::string device_table(const Report& report) {
  const bool emulated = any_emulated(report);
  std::vector<std::string> heading = {"device", "workers", "tasks", "work", "busy", "load"};
  if (emulated) heading.emplace_back("modelled");
  TextTable table(std::move(heading), 1);
  for (const DeviceReport& device : report.devices) {
    // Of jobs without floating-point work, the tasks are counted instead.
    const double work = report.flops > 0
                            ? device.flops / report.flops
                            : static_cast<double>(device.tasks) / static_cast<double>(report.tasks);
    std::vector<std::string> row = {
        device.name,
        fmt::format("{}", device.workers),
        fmt::format("{}", device.tasks),
        show_percent(work),
        show_time(device.busy.count),
        show_percent(device.busy.count / (report.makespan.count * device.workers))};
    if (emulated) row.push_back(device.modelled ? show_time(device.modelled->count) : "-");
    table.add(std::move(row));
  }
  std::string text = table.text();
  if (emulated)
    text +=
        "modelled: what the hardware that an emulated device stands for would have taken; all other times "
        "are\n"
        "of this machine's clock\n";
  return text;
}

std::string movement_lines(const Report& report) {
  std::string text =
      fmt::format("{:<10} {}", "moved", show_size(static_cast<double>(report.bytes_moved.count)));
  if (report.links.empty()) return text + " between memories\n";
  text += " between memories:\n";
  TextTable table({"  link", "moved", "copies", "busy"}, 1);
  for (const LinkReport& link : report.links) {
    // A node to itself is a conversion.
    const std::string name = link.from == link.to ? fmt::format("  converted in {}", link.from)
                                                  : fmt::format("  {} -> {}", link.from, link.to);
    table.add({name, show_size(static_cast<double>(link.bytes.count)), fmt::format("{}", link.copies),
               show_time(link.busy.count)});
  }
  return text + table.text();
}

std::string rate_line(double rate, const Peak& peak) {
  if (rate <= 0) return {};
  return fmt::format("{:<10} {}, {} of the measured peak of {} ({} of OpenBLAS on {} thread{}, {} kernels)\n",
                     "rate", show_gflops(rate), show_percent(rate / peak.flops_per_second),
                     show_gflops(peak.flops_per_second), peak.single_precision ? "sgemm" : "dgemm",
                     peak.threads, peak.threads == 1 ? "" : "s", peak.kernels);
}

}  // namespace

double flops_per_second(const JobResult& result, const Report& report) {
  const double flops = result.flops > 0 ? result.flops : report.flops;
  return report.makespan.count > 0 ? flops / report.makespan.count : 0.0;
}

std::string json_text(const Job& job, const JobResult& result, const Report& report, const Peak& peak) {
  nlohmann::ordered_json object;
  object["example"] = job.name();
  object["makespan_seconds"] = report.makespan.count;
  object["gflops"] = flops_per_second(result, report) / 1e9;
  object["peak_gflops"] = peak.flops_per_second / 1e9;
  object["bytes_moved"] = report.bytes_moved.count;
  object["tasks"] = report.tasks;
  auto& devices = object["devices"] = nlohmann::ordered_json::array();
  for (const DeviceReport& device : report.devices) {
    nlohmann::ordered_json entry = {{"name", device.name},
                                    {"kind", device.kind},
                                    {"busy_seconds", device.busy.count},
                                    {"tasks", device.tasks}};
    if (device.modelled) entry["modelled_seconds"] = device.modelled->count;
    devices.push_back(std::move(entry));
  }
  if (result.fields)
    for (const auto& [name, value] : result.fields->items()) object[name] = value;
  // Names of devices and files need not be UTF-8.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string human_text(const JobResult& result, const Report& report, const Peak& peak) {
  std::string text;
  for (const std::string& line : result.lines) text += line + '\n';
  if (!text.empty() && text.substr(text.size() - std::min<std::size_t>(text.size(), 2)) != "\n\n")
    text += '\n';
  text += device_table(report);
  text += fmt::format("\n{:<10} {} in {} tasks, policy {}\n", "time", show_time(report.makespan.count),
                      report.tasks, report.policy);
  text += movement_lines(report);
  text += rate_line(flops_per_second(result, report), peak);
  for (const auto& [what, path] : result.files) text += fmt::format("{:<10} {}\n", what, path);
  return text;
}

}  // namespace hocket::jobs
