// SPDX-License-Identifier: Apache-2.0
/// Which devices can run a task, in which formats, and how long it should take there.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "cost/roofline.hpp"
#include "engine/failures.hpp"
#include "engine/lifecycle.hpp"
#include "graph/datum.hpp"

namespace hocket::engine {

using detail::CodeletCore;
using detail::Datum;
using detail::Operand;
using detail::TaskNode;

namespace {

std::uint64_t bit(DeviceId device) noexcept { return std::uint64_t{1} << index(device); }

/// `variant`: null for a kernel that is used once, which wants nothing.
Format wanted_format(const Variant* variant, const Operand& operand, const Device& device) {
  if (variant != nullptr)
    if (const std::optional<Format> wanted = variant->wanted_format(operand.parameter)) return *wanted;
  return device.preferred_format(operand.region->datum().element(), operand.access);
}

}  // namespace

const Variant* Lifecycle::variant_for(const CodeletCore& codelet, const DeviceInfo& device) noexcept {
  for (const auto& variant : codelet.variants)
    if (variant->device_kind() == device.properties.kind) return variant.get();
  return nullptr;
}

std::vector<Format> Lifecycle::formats_for(TaskNode& task, const DeviceInfo& info) const {
  std::vector<Format> formats;
  formats.reserve(task.operands().size());
  const Variant* variant = task.type->one_off ? nullptr : variant_for(task.core(), info);
  const Device& device = machine_.device(info.id);
  for (const Operand& operand : task.operands()) formats.push_back(wanted_format(variant, operand, device));
  return formats;
}

std::string Lifecycle::why_not(TaskNode& task, const DeviceInfo& info) {
  const Variant* variant = variant_for(task.core(), info);
  if (variant == nullptr) return fmt::format("the codelet has no {} variant", info.properties.kind);
  const std::vector<Format> formats = formats_for(task, info);
  for (std::size_t i = 0; i < task.operands().size(); ++i) {
    const Datum& datum = task.operands()[i].region->datum();
    // The common case asks nobody: data as it lies at home.
    if (info.memory_node == kHostNode && formats[i] == Format{datum.element(), Layout::RowMajor}) continue;
    const memory::Manager::Reachable way =
        memory_.reachable(datum, info, formats[i], task.operands()[i].access);
    if (!way.possible)
      return fmt::format(
          "no conversion leads from data '{}' ({}) to the {} that the variant wants for argument {}",
          task.operands()[i].region->name(), to_string(datum.element()), to_string(formats[i]),
          task.operands()[i].parameter);
    if (way.lossy && !datum.permit_lossy())
      return fmt::format(
          "its variant wants argument {} as {}, which loses precision, and data '{}' does not permit "
          "that (DataOptions::permit_lossy)",
          task.operands()[i].parameter, to_string(formats[i]), task.operands()[i].region->name());
  }
  if (info.memory_node != kHostNode) {
    const Bytes needed = memory_.footprint(task.operands(), info, formats);
    const Bytes capacity = machine_.node(info.memory_node).capacity;
    if (needed > capacity)
      return fmt::format("its operands take {} bytes there, more than its memory of {}", needed.count,
                         capacity.count);
  }
  return {};
}

void Lifecycle::find_eligible(TaskNode& task, std::uint64_t admitted) {
  std::uint64_t found = 0;
  bool too_big = false;
  for (const DeviceInfo& device : machine_.devices()) {
    if ((admitted & bit(device.id)) == 0) continue;
    const std::string reason = why_not(task, device);
    if (reason.empty()) found |= bit(device.id);
    too_big = too_big || reason.find("more than its memory") != std::string::npos;
  }
  task.extra().eligible = found;
  if (found != 0) return;

  std::vector<std::string> reasons;
  for (const DeviceInfo& device : machine_.devices()) {
    const bool out = (admitted & bit(device.id)) == 0;
    reasons.push_back(fmt::format("{}: {}", device.label,
                                  out ? "excluded by the task's option `on`" : why_not(task, device)));
  }
  std::vector<std::string_view> kinds;
  for (const auto& variant : task.core().variants) kinds.push_back(variant->device_kind());
  const std::string message = fmt::format(
      "no device can run task '{}': codelet '{}' has variants for {}; devices: {}. Add a variant, a device "
      "(RuntimeOptions::devices, HOCKET_DEVICES) or room",
      task.display_name(), task.core().name, fmt::join(kinds, ", "),
      reasons.empty() ? "none" : fmt::format("{}", fmt::join(reasons, "; ")));
  if (too_big) throw OutOfMemory(message);
  throw NoEligibleDevice(message);
}

std::uint64_t Lifecycle::eligible(const TaskNode& task) const noexcept {
  const detail::TaskExtra* const extra = task.extra_or_null();
  if (extra != nullptr && extra->eligible != 0) return extra->eligible;
  if (task.prepared() != nullptr) return task.prepared()->eligible;
  return fast_device_ ? bit(*fast_device_) : 0;
}

/// Identifies a task's kernel in cost models.
std::uint64_t Lifecycle::key_of(const TaskNode& task) noexcept {
  if (!task.type->one_off) return task.core().key;
  return reinterpret_cast<std::uintptr_t>(task.type);
}

DeviceId Lifecycle::device_of(const TaskNode& task) const noexcept {
  const detail::TaskExtra* const extra = task.extra_or_null();
  if (extra != nullptr && (task.asked(TaskNode::kPlaced) || task.type == nullptr)) return extra->device;
  return fast_device_.value_or(DeviceId{});
}

Work Lifecycle::work_of(TaskNode& task) {
  Work work;
  const detail::PreparedCodelet* const codelet = task.prepared();
  if (codelet == nullptr || !codelet->has_work.load(std::memory_order_relaxed)) return work;
  std::vector<Shape> shapes(task.type->parameter_count);
  std::uint32_t next = 0;
  task.for_each_operand([&](const detail::Region& region, Access) {
    while (!task.type->parameters[next].is_data) ++next;
    shapes[next++] = region.box().shape;
  });
  try {
    work = task.core().work(shapes);
  } catch (...) {
    // Nothing may go wrong with a task because of what is only an estimate.
    if (codelet->has_work.exchange(false, std::memory_order_relaxed))
      spdlog::error(
          "hocket: how much codelet '{}' works is unknown from now on: its with_work function threw: {}",
          codelet->name, message_of(std::current_exception()));
  }
  return work;
}

/// With the traffic of the operands where the codelet does not say.
Work Lifecycle::work_with_traffic(TaskNode& task) {
  Work work = work_of(task);
  if (work.bytes == 0.0) {
    task.for_each_operand([&](const detail::Region& region, Access access) {
      const double touches = access == Access::ReadWrite ? 2.0 : 1.0;
      work.bytes +=
          touches * static_cast<double>(region.box().shape.elements() * region.datum().element().bytes);
    });
  }
  return work;
}

std::uint64_t Lifecycle::footprint(TaskNode& task) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  task.for_each_operand([&](const detail::Region& region, Access) {
    for (const std::size_t extent : region.box().shape.extent) mix(extent);
  });
  return hash;
}

Lifecycle::Estimate Lifecycle::estimate(TaskNode& task, const DeviceInfo& device) const {
  if (const auto known = history_.estimate({key_of(task), device.id, footprint(task)}))
    return {known->seconds, true};
  const Work work = work_with_traffic(task);
  return {cost::roofline_seconds(work.flops, work.bytes, device.properties.flops_per_second,
                                 device.properties.bytes_per_second),
          false};
}

Explanation Lifecycle::explain(TaskNode& task) {
  Explanation explanation;
  {
    const std::lock_guard lock(failure_mutex_);
    const detail::TaskExtra* const extra = task.extra_or_null();
    if (extra != nullptr && extra->explanation) explanation = *extra->explanation;
  }
  explanation.task = task.display_name();
  if (task.over() && !explanation.device) explanation.device = device_of(task);
  const bool placed = task.asked(TaskNode::kPlaced);
  if (explanation.decided_by.empty()) explanation.decided_by = placed ? policy_name_ : "fast lane";
  const std::uint64_t able = eligible(task);
  for (const DeviceInfo& device : machine_.devices()) {
    const bool listed =
        std::any_of(explanation.options.begin(), explanation.options.end(),
                    [&](const Explanation::Option& option) { return option.device == device.id; });
    if (listed) continue;
    Explanation::Option option;
    option.device = device.id;
    option.label = device.label;
    option.eligible = (able & bit(device.id)) != 0;
    const bool has_variant =
        task.type->one_off ? device.properties.kind == "cpu" : variant_for(task.core(), device) != nullptr;
    if (!option.eligible)
      option.reason = has_variant ? "excluded by the task's option `on`, its formats or its size"
                                  : fmt::format("the codelet has no {} variant", device.properties.kind);
    explanation.options.push_back(std::move(option));
  }
  return explanation;
}

}  // namespace hocket::engine
