// SPDX-License-Identifier: Apache-2.0
#include "platform/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace hocket::platform {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct KindAndRest {
  std::string_view kind;
  std::string_view rest;
};
KindAndRest kind_and_rest(std::string_view item) {
  const std::size_t colon = item.find(':');
  if (colon == std::string_view::npos) return {item, {}};
  return {item.substr(0, colon), item.substr(colon + 1)};
}

constexpr std::array<std::string_view, 3> kBuiltInKinds{"cpu", "opencl", "pim"};

std::vector<std::shared_ptr<Backend>> built_in_backends() {
  std::vector<std::shared_ptr<Backend>> backends;
  backends.push_back(make_cpu_backend());
#if HOCKET_HAS_OPENCL
  backends.push_back(make_opencl_backend());
#endif
#if HOCKET_HAS_PIM
  backends.push_back(make_pim_backend());
#endif
  return backends;
}

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view what) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array<Unit, 12> kUnits{{{"", 1.0},
                                         {"B", 1.0},
                                         {"kB", 1e3},
                                         {"KB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12},
                                         {"KiB", 1024.0},
                                         {"MiB", 1048576.0},
                                         {"GiB", 1073741824.0},
                                         {"TiB", 1099511627776.0},
                                         {"bytes", 1.0}}};
  const std::string copy(trim(text));
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  const std::string_view unit = trim(std::string_view(end));
  const auto* const found =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == unit; });
  if (end == copy.c_str() || found == kUnits.end() || !(number > 0.0) ||
      number * found->bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max()))
    throw InvalidArgument(
        fmt::format("{}: '{}' is not a size; write for example 256MiB, 1.5GB or 4096 (bytes)", what, text));
  return Bytes{static_cast<std::uint64_t>(std::llround(number * found->bytes))};
}

Machine::Machine(std::string_view specification, std::string_view memory_limits,
                 const std::vector<std::shared_ptr<Backend>>& backends)
    : backends_(built_in_backends()) {
  backends_.insert(backends_.end(), backends.begin(), backends.end());
  nodes_.push_back({kHostNode, "host", nullptr, Bytes{}});
  const std::string_view wanted = trim(specification);
  if (wanted.empty()) {
    for (const auto& backend : backends_)
      if (!backend->on_request_only()) open(backend->kind(), *backend, {}, true);
  } else if (wanted != "none") {
    for (const std::string_view item : split(wanted, ',')) {
      const KindAndRest parts = kind_and_rest(item);
      const std::string_view kind = parts.kind;
      const auto found = std::find_if(backends_.begin(), backends_.end(),
                                      [&](const auto& backend) { return backend->kind() == kind; });
      if (found == backends_.end()) {
        const bool known = std::find(kBuiltInKinds.begin(), kBuiltInKinds.end(), kind) != kBuiltInKinds.end();
        std::vector<std::string_view> names;
        for (const auto& backend : backends_) names.push_back(backend->kind());
        throw InvalidArgument(fmt::format(
            "device specification '{}': {} '{}'; this library knows {}. Separate kinds with commas, as in "
            "\"cpu:2,opencl\"",
            specification, known ? "this library was built without" : "unknown kind of device", kind,
            fmt::join(names, ", ")));
      }
      const std::size_t before = devices_.size();
      open(kind, **found, parts.rest, false);
      if (devices_.size() == before)
        throw InvalidArgument(fmt::format("device specification '{}': no device for '{}': {}", specification,
                                          item, (*found)->why_none()));
    }
  }
  limit_memory(memory_limits);
}

Machine::~Machine() = default;

void Machine::open(std::string_view kind, Backend& backend, std::string_view specification, bool by_default) {
  std::uint32_t number = 0;
  for (const DeviceInfo& info : infos_) number += info.properties.kind == kind ? 1 : 0;
  for (std::unique_ptr<Device>& device : backend.open(specification)) {
    const DeviceProperties& properties = device->properties();
    if (by_default && properties.on_request_only) continue;
    if (devices_.size() == 64)
      throw InvalidArgument("more than 64 devices; narrow them with RuntimeOptions::devices");
    DeviceInfo info;
    info.id = DeviceId{static_cast<std::uint32_t>(devices_.size())};
    info.label = fmt::format("{}:{}", kind, number++);
    info.properties = properties;
    if (properties.host_memory) {
      info.memory_node = kHostNode;
    } else {
      info.memory_node = MemoryNodeId{static_cast<std::uint32_t>(nodes_.size())};
      nodes_.push_back({info.memory_node, info.label, device.get(), properties.memory});
    }
    infos_.push_back(std::move(info));
    devices_.push_back(std::move(device));
  }
}

void Machine::limit_memory(std::string_view limits) {
  if (trim(limits).empty()) return;
  for (const std::string_view item : split(limits, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      throw InvalidArgument(
          fmt::format("memory limits '{}': '{}' has no '='; write for example opencl=256MiB", limits, item));
    const std::string_view name = trim(item.substr(0, equals));
    const Bytes bytes = parse_bytes(item.substr(equals + 1), fmt::format("memory limit of '{}'", name));
    bool known = false;
    for (MemoryNode& node : nodes_) {
      if (node.device == nullptr) continue;
      if (node.label != name && kind_and_rest(node.label).kind != name) continue;
      node.capacity = std::min(node.capacity, bytes);
      known = true;
    }
    for (DeviceInfo& info : infos_)
      if (info.memory_node != kHostNode) info.properties.memory = node(info.memory_node).capacity;
    if (!known) {
      // A limit for a kind that could be here but is not today is no mistake: one setting serves many machines.
      const bool possible = std::any_of(backends_.begin(), backends_.end(), [&](const auto& backend) {
        return backend->kind() == name && name != "cpu";
      });
      const bool built_in =
          name != "cpu" && std::find(kBuiltInKinds.begin(), kBuiltInKinds.end(), name) != kBuiltInKinds.end();
      if (!possible && !built_in)
        throw InvalidArgument(
            fmt::format("memory limits '{}': '{}' is no device with memory of its own; the devices are {}",
                        limits, name, describe()));
    }
  }
}

std::uint64_t Machine::matching(std::string_view specification) const {
  if (trim(specification).empty()) return ~std::uint64_t{0};
  std::uint64_t mask = 0;
  for (const std::string_view item : split(specification, ',')) {
    const auto [kind, rest] = kind_and_rest(item);
    std::uint64_t found = 0;
    for (const DeviceInfo& info : infos_)
      if (rest.empty() ? info.properties.kind == kind : info.label == item)
        found |= std::uint64_t{1} << index(info.id);
    if (found == 0)
      throw InvalidArgument(
          fmt::format("task option on = \"{}\": '{}' is none of this runtime's devices, which are {}",
                      specification, item, describe()));
    mask |= found;
  }
  return mask;
}

std::string Machine::describe() const {
  if (infos_.empty()) return "none";
  std::vector<std::string> names;
  for (const DeviceInfo& info : infos_)
    names.push_back(fmt::format("{} ({})", info.label, info.properties.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace hocket::platform
