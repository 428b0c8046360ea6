// SPDX-License-Identifier: Apache-2.0
/// Which devices can run a task, in which formats, and how long it should take there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cost/roofline.hpp"
#include "engine/lifecycle.hpp"
#include "graph/datum.hpp"

namespace hocket::engine {

using detail::CodeletCore;
using detail::Datum;
using detail::Operand;
using detail::TaskNode;

namespace {

std::uint64_t bit(DeviceId device) noexcept { return std::uint64_t{1} << index(device); }

Format wanted_format(const Variant& variant, const Operand& operand, const Device& device) {
  if (const std::optional<Format> wanted = variant.wanted_format(operand.parameter)) return *wanted;
  return device.preferred_format(operand.region->datum().description().element, operand.access);
}

}  // namespace

const Variant* Lifecycle::variant_for(const CodeletCore& codelet, const DeviceInfo& device) noexcept {
  for (const auto& variant : codelet.variants)
    if (variant->device_kind() == device.properties.kind) return variant.get();
  return nullptr;
}

std::vector<Format> Lifecycle::formats_for(const TaskNode& task, const DeviceInfo& info) const {
  std::vector<Format> formats;
  formats.reserve(task.operands.size());
  const Variant* variant = variant_for(*task.codelet, info);
  const Device& device = machine_.device(info.id);
  for (const Operand& operand : task.operands) formats.push_back(wanted_format(*variant, operand, device));
  return formats;
}

std::string Lifecycle::why_not(const TaskNode& task, const DeviceInfo& info) {
  const Variant* variant = variant_for(*task.codelet, info);
  if (variant == nullptr) return fmt::format("the codelet has no {} variant", info.properties.kind);
  const std::vector<Format> formats = formats_for(task, info);
  for (std::size_t i = 0; i < task.operands.size(); ++i) {
    const Datum& datum = task.operands[i].region->datum();
    // The common case asks nobody: data as it lies at home.
    if (info.memory_node == kHostNode && formats[i] == Format{datum.description().element, Layout::RowMajor})
      continue;
    const memory::Manager::Reachable way =
        memory_.reachable(datum, info, formats[i], task.operands[i].access);
    if (!way.possible)
      return fmt::format(
          "no conversion leads from data '{}' ({}) to the {} that the variant wants for argument {}",
          task.operands[i].region->name(), to_string(datum.description().element), to_string(formats[i]),
          task.operands[i].parameter);
    if (way.lossy && !datum.description().permit_lossy)
      return fmt::format(
          "its variant wants argument {} as {}, which loses precision, and data '{}' does not permit "
          "that (DataOptions::permit_lossy)",
          task.operands[i].parameter, to_string(formats[i]), task.operands[i].region->name());
  }
  if (info.memory_node != kHostNode) {
    const Bytes needed = memory_.footprint(task.operands, info, formats);
    const Bytes capacity = machine_.node(info.memory_node).capacity;
    if (needed > capacity)
      return fmt::format("its operands take {} bytes there, more than its memory of {}", needed.count,
                         capacity.count);
  }
  return {};
}

void Lifecycle::find_eligible(TaskNode& task, std::uint64_t admitted) {
  task.eligible = 0;
  bool too_big = false;
  for (const DeviceInfo& device : machine_.devices()) {
    if ((admitted & bit(device.id)) == 0) continue;
    const std::string reason = why_not(task, device);
    if (reason.empty()) task.eligible |= bit(device.id);
    too_big = too_big || reason.find("more than its memory") != std::string::npos;
  }
  if (task.eligible != 0) {
    // The fast lane's test, as far as it can be made now.
    const bool single = (task.eligible & (task.eligible - 1)) == 0;
    if (!single) return;
    const auto only = static_cast<std::uint32_t>(__builtin_ctzll(task.eligible));
    const DeviceInfo& device = machine_.devices()[only];
    if (device.memory_node != kHostNode || device.properties.execution != Execution::CallingThread) return;
    const Variant* variant = variant_for(*task.codelet, device);
    task.plain = std::none_of(task.operands.begin(), task.operands.end(), [&](const Operand& operand) {
      return variant->wanted_format(operand.parameter).has_value();
    });
    task.device = device.id;
    return;
  }

  std::vector<std::string> reasons;
  for (const DeviceInfo& device : machine_.devices()) {
    const bool out = (admitted & bit(device.id)) == 0;
    reasons.push_back(fmt::format("{}: {}", device.label,
                                  out ? "excluded by the task's option `on`" : why_not(task, device)));
  }
  std::vector<std::string_view> kinds;
  for (const auto& variant : task.codelet->variants) kinds.push_back(variant->device_kind());
  const std::string message = fmt::format(
      "no device can run task '{}': codelet '{}' has variants for {}; devices: {}. Add a variant, a device "
      "(RuntimeOptions::devices, HOCKET_DEVICES) or room",
      task.display_name(), task.codelet->name, fmt::join(kinds, ", "),
      reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, "; ")));
  if (too_big) throw OutOfMemory(message);
  throw NoEligibleDevice(message);
}

Work Lifecycle::work_of(const TaskNode& task) const {
  Work work;
  if (task.codelet->work) {
    std::vector<Shape> shapes(task.codelet->parameters.size());
    for (const Operand& operand : task.operands) shapes[operand.parameter] = operand.region->box().shape;
    work = task.codelet->work(shapes);
  }
  if (work.bytes == 0.0) {
    for (const Operand& operand : task.operands) {
      const double touches = operand.access == Access::ReadWrite ? 2.0 : 1.0;
      work.bytes += touches * static_cast<double>(operand.region->box().shape.elements() *
                                                  operand.region->datum().description().element.bytes);
    }
  }
  return work;
}

std::uint64_t Lifecycle::footprint(const TaskNode& task) const noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  for (const Operand& operand : task.operands)
    for (const std::size_t extent : operand.region->box().shape.extent) mix(extent);
  return hash;
}

Lifecycle::Estimate Lifecycle::estimate(const TaskNode& task, const DeviceInfo& device) const {
  if (const auto known = history_.estimate({task.codelet->key, device.id, footprint(task)}))
    return {known->seconds, true};
  const Work work = work_of(task);
  return {cost::roofline_seconds(work.flops, work.bytes, device.properties.flops_per_second,
                                 device.properties.bytes_per_second),
          false};
}

Explanation Lifecycle::explain(TaskNode& task) {
  Explanation explanation;
  {
    const std::lock_guard lock(failure_mutex_);
    if (task.details && task.details->explanation) explanation = *task.details->explanation;
  }
  explanation.task = task.display_name();
  if (task.over() && !explanation.device) explanation.device = task.device;
  if (explanation.decided_by.empty()) explanation.decided_by = task.fast ? "fast lane" : policy_name_;
  for (const DeviceInfo& device : machine_.devices()) {
    const bool listed =
        std::any_of(explanation.options.begin(), explanation.options.end(),
                    [&](const Explanation::Option& option) { return option.device == device.id; });
    if (listed) continue;
    Explanation::Option option;
    option.device = device.id;
    option.label = device.label;
    option.eligible = (task.eligible & bit(device.id)) != 0;
    if (!option.eligible)
      option.reason = variant_for(*task.codelet, device) == nullptr
                          ? fmt::format("the codelet has no {} variant", device.properties.kind)
                          : "excluded by the task's option `on`, its formats or its size";
    explanation.options.push_back(std::move(option));
  }
  return explanation;
}

}  // namespace hocket::engine
