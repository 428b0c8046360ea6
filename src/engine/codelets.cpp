// SPDX-License-Identifier: Apache-2.0
#include "engine/codelets.hpp"

#include <algorithm>

#include "engine/lifecycle.hpp"

namespace hocket::engine {

using detail::CodeletCore;
using detail::PreparedCodelet;

namespace {

/// From how many prepared codelets on a new one makes the engine look for those that are no longer used.
constexpr std::size_t kManyCodelets = 64;

void lay_out(PreparedCodelet& prepared) {
  std::uint32_t bytes = 0;
  for (const Parameter& parameter : prepared.own_parameters) {
    std::uint32_t offset = 0;
    if (parameter.is_data) {
      ++prepared.operand_count;
    } else {
      bytes = (bytes + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
      prepared.storage_alignment = std::max(prepared.storage_alignment, parameter.alignment);
      offset = bytes;
      bytes += parameter.element.bytes;
    }
    prepared.own_offsets.push_back(offset);
  }
  prepared.storage_bytes = bytes;
  prepared.parameters = prepared.own_parameters.data();
  prepared.scalar_offsets = prepared.own_offsets.data();
  prepared.parameter_count = static_cast<std::uint32_t>(prepared.own_parameters.size());
}

}  // namespace

PreparedCodelet& Codelets::find_or_prepare(const ThreadContexts& contexts,
                                           const std::shared_ptr<const CodeletCore>& core) {
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_serial_.find(core->serial);
    if (found != by_serial_.end()) return *found->second;
    many = by_serial_.size() >= kManyCodelets && unused_numbers_.empty();
  }
  if (many) reap(contexts);

  auto fresh = std::make_unique<PreparedCodelet>();
  PreparedCodelet& prepared = *fresh;
  prepared.core = core;
  prepared.name = core->name;
  prepared.own_parameters = core->parameters;
  prepared.pool = contexts.serial();
  prepared.has_work.store(static_cast<bool>(core->work), std::memory_order_relaxed);
  lay_out(prepared);
  // Whether one CPU device is the only one that could ever run it.
  std::uint32_t able = 0;
  const DeviceInfo* only = nullptr;
  for (const DeviceInfo& device : machine_.devices())
    if (Lifecycle::variant_for(*core, device) != nullptr) {
      ++able;
      only = &device;
    }
  if (able == 1 && only->properties.execution == Execution::CallingThread && only->memory_node == kHostNode) {
    const Variant& variant = *Lifecycle::variant_for(*core, *only);
    const auto* const cpu = dynamic_cast<const detail::CpuVariant*>(&variant);
    if (cpu != nullptr && only->properties.kind == "cpu" && variant.wanted_formats() == 0) {
      prepared.simple = true;
      prepared.eligible = std::uint64_t{1} << index(only->id);
      cpu->describe(prepared);
    }
  }

  const std::lock_guard lock(mutex_);
  const auto found = by_serial_.find(core->serial);  // another thread may have been faster
  if (found != by_serial_.end()) return *found->second;
  if (!unused_numbers_.empty()) {
    prepared.number = unused_numbers_.back();
    unused_numbers_.pop_back();
    // What the threads' counters say of the number's former codelets cancels out.
    if (prepared.number < graph::kCountedCodelets)
      prepared.other_users.store(-contexts.codelet_users(prepared.number), std::memory_order_relaxed);
    all_[prepared.number] = std::move(fresh);
  } else {
    prepared.number = static_cast<std::uint32_t>(all_.size());
    all_.push_back(std::move(fresh));
  }
  by_serial_.emplace(core->serial, &prepared);
  return prepared;
}

void Codelets::reap(const ThreadContexts& contexts) {
  std::vector<std::unique_ptr<PreparedCodelet>> gone;  // destroyed after the lock: captures may do anything
  const std::lock_guard lock(mutex_);
  for (auto it = by_serial_.begin(); it != by_serial_.end();) {
    PreparedCodelet& prepared = *it->second;
    // In this order: once nobody else holds the codelet, nobody can submit it, and the users only become fewer.
    if (prepared.core.use_count() != 1) {
      ++it;
      continue;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    std::int64_t users = prepared.other_users.load(std::memory_order_acquire);
    if (prepared.number < graph::kCountedCodelets) users += contexts.codelet_users(prepared.number);
    if (users != 0) {
      ++it;
      continue;
    }
    it = by_serial_.erase(it);
    gone.push_back(std::move(all_[prepared.number]));
    unused_numbers_.push_back(prepared.number);
  }
}

void Codelets::release_all() {
  std::vector<std::shared_ptr<const CodeletCore>> gone;
  const std::lock_guard lock(mutex_);
  for (const auto& prepared : all_)
    if (prepared) gone.push_back(std::move(prepared->core));
}

}  // namespace hocket::engine
