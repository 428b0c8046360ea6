// SPDX-License-Identifier: Apache-2.0
#include "cli/device_list.hpp"

#include <fmt/format.h>

#include <hocket/backend.hpp>
#include <nlohmann/json.hpp>

#include "console.hpp"

namespace hocket::cli {
namespace {

std::vector<std::unique_ptr<Backend>> backends() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(make_cpu_backend());
#if HOCKET_HAS_OPENCL
  all.push_back(make_opencl_backend());
#endif
#if HOCKET_HAS_PIM
  all.push_back(make_pim_backend());
#endif
  return all;
}

/// What each backend finds by itself.
void look_everywhere(DeviceList& list) {
  for (const auto& backend : backends()) {
    const auto found = backend->open({});
    for (std::size_t i = 0; i < found.size(); ++i) {
      DeviceInfo info;
      info.id = DeviceId{static_cast<std::uint32_t>(list.devices.size())};
      info.label = fmt::format("{}:{}", backend->kind(), i);
      info.properties = found[i]->properties();
      list.devices.push_back(std::move(info));
    }
    if (found.empty()) list.missing.push_back({std::string(backend->kind()), backend->why_none()});
  }
#if !HOCKET_HAS_OPENCL
  list.missing.push_back({"opencl", "this program was built without it (HOCKET_WITH_OPENCL)"});
#endif
#if !HOCKET_HAS_PIM
  list.missing.push_back({"pim", "this program was built without it (HOCKET_WITH_PIM)"});
#endif
}

struct Speed {
  double flops_per_second;
  const char* source;
};

/// Of the whole device.
Speed speed_of(const DeviceList& list, const DeviceProperties& properties) {
  if (properties.host_memory && list.cpu_peak) return {list.cpu_peak->flops_per_second, "measured"};
  return {properties.flops_per_second, properties.emulated ? "emulator" : "nominal"};
}

std::string use_of(const DeviceProperties& properties) {
  return properties.on_request_only ? "on request" : "by default";
}

}  // namespace

DeviceList find_devices(const std::string& specification) {
  DeviceList list;
  if (specification.empty()) {
    look_everywhere(list);
  } else {
    RuntimeOptions options;
    options.devices = specification;
    list.devices = Runtime(options).devices();
    if (list.devices.empty()) {
      DeviceList all;
      look_everywhere(all);
      std::string others;
      for (const DeviceInfo& device : all.devices) others += (others.empty() ? "" : ", ") + device.label;
      list.missing.push_back({"", fmt::format("\"{}\" asks for none; there are: {}", specification, others)});
      list.missing.insert(list.missing.end(), all.missing.begin(), all.missing.end());
    }
  }
  for (const DeviceInfo& device : list.devices)
    if (device.properties.host_memory && !list.cpu_peak)
      list.cpu_peak = jobs::measure_peak(jobs::peak_threads(list.devices));
  return list;
}

std::string describe(const DeviceList& list) {
  std::string text;
  if (!list.devices.empty()) {
    jobs::TextTable table(
        {"device", "name", "used", "units", "workers", "memory", "speed", "", "bandwidth", "link", "latency"},
        3);
    for (const DeviceInfo& device : list.devices) {
      const DeviceProperties& p = device.properties;
      const Speed speed = speed_of(list, p);
      table.add({device.label, p.name, use_of(p), fmt::format("{}", p.units),
                 fmt::format("{}", p.concurrency), jobs::show_size(static_cast<double>(p.memory.count)),
                 jobs::show_gflops(speed.flops_per_second), speed.source,
                 jobs::show_bandwidth(p.bytes_per_second),
                 p.host_memory ? "none" : jobs::show_bandwidth(p.link_bytes_per_second),
                 p.host_memory ? "-" : jobs::show_time(p.link_latency.count)});
    }
    text += table.text();
    text +=
        "\nunits: cores, compute units or DPUs. bandwidth: of its memory, as one task sees it. link: host to "
        "device "
        "and\nback; none where the device computes in the host's memory. Bandwidths, links and latencies are "
        "nominal;\nspeeds are of double precision: measured, nominal, or what the emulator reaches on this "
        "machine.\n";
    if (list.cpu_peak)
      text +=
          fmt::format("measured: matrix products of OpenBLAS ({} kernels) on {} thread{} at once.\n",
                      list.cpu_peak->kernels, list.cpu_peak->threads, list.cpu_peak->threads == 1 ? "" : "s");
    text +=
        "on request: used only where --devices or HOCKET_DEVICES names the kind, as in "
        "\"cpu:2,opencl,pim:64\".\n";
  } else {
    text += "no devices\n";
  }
  for (const NothingFound& nothing : list.missing)
    text += nothing.kind.empty() ? fmt::format("{}\n", nothing.why)
                                 : fmt::format("no {} device: {}\n", nothing.kind, nothing.why);
  return text;
}

std::string to_json(const DeviceList& list) {
  nlohmann::ordered_json object;
  auto& devices = object["devices"] = nlohmann::ordered_json::array();
  for (const DeviceInfo& device : list.devices) {
    const DeviceProperties& p = device.properties;
    const Speed speed = speed_of(list, p);
    nlohmann::ordered_json entry = {{"label", device.label},
                                    {"kind", p.kind},
                                    {"name", p.name},
                                    {"units", p.units},
                                    {"workers", p.concurrency},
                                    {"memory_bytes", p.memory.count},
                                    {"emulated", p.emulated},
                                    {"on_request_only", p.on_request_only},
                                    {"gflops", speed.flops_per_second / 1e9},
                                    {"gflops_source", speed.source},
                                    {"memory_bytes_per_second", p.bytes_per_second},
                                    {"memory_bytes_per_second_source", "nominal"}};
    auto& links = entry["links"] = nlohmann::ordered_json::array();
    if (!p.host_memory)
      links.push_back({{"to", "host"},
                       {"bytes_per_second", p.link_bytes_per_second},
                       {"latency_seconds", p.link_latency.count},
                       {"source", "nominal"}});
    devices.push_back(std::move(entry));
  }
  auto& missing = object["missing"] = nlohmann::ordered_json::array();
  for (const NothingFound& nothing : list.missing)
    missing.push_back({{"kind", nothing.kind}, {"why", nothing.why}});
  if (list.cpu_peak) object["openblas_kernels"] = list.cpu_peak->kernels;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace hocket::cli
