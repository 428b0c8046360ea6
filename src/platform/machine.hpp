// SPDX-License-Identifier: Apache-2.0
/// The machine of a runtime: its devices, opened, and its memory nodes. Constant once opened.
#pragma once

#include <hocket/backend.hpp>
#include <hocket/runtime.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::platform {

/// An address space. Node 0 is the host's; every device with memory of its own adds one.
struct MemoryNode {
  MemoryNodeId id{};
  std::string label;         ///< "host", or the label of its device.
  Device* device = nullptr;  ///< Null for the host.
  Bytes capacity{};          ///< Device nodes only: the device's memory or the limit that was set.
};

class Machine {
 public:
  /// Opens the devices of a specification such as "cpu:2,opencl,pim:64" (empty: every device that needs no
  /// request; "none": no device), with limits such as "opencl=256MiB". `backends` come besides the built-in
  /// ones. Throws `InvalidArgument` for a kind that is unknown, not built in or without any device, and for
  /// a limit that cannot be read.
  Machine(std::string_view specification, std::string_view memory_limits,
          const std::vector<std::shared_ptr<Backend>>& backends);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  /// At most 64: sets of devices are 64-bit masks.
  const std::vector<DeviceInfo>& devices() const noexcept { return infos_; }
  Device& device(DeviceId id) const noexcept { return *devices_[index(id)]; }
  const std::vector<MemoryNode>& nodes() const noexcept { return nodes_; }
  const MemoryNode& node(MemoryNodeId id) const noexcept { return nodes_[index(id)]; }

  /// The devices that a task's `on` admits, as a bit set; throws `InvalidArgument` where it names none.
  std::uint64_t matching(std::string_view specification) const;
  /// "cpu:0 (AMD EPYC), opencl:0 (...)" for messages; "none".
  std::string describe() const;

 private:
  void open(std::string_view kind, Backend& backend, std::string_view specification, bool by_default);
  void limit_memory(std::string_view limits);

  std::vector<std::shared_ptr<Backend>> backends_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<DeviceInfo> infos_;
  std::vector<MemoryNode> nodes_;
};

/// Reads a size such as "256MiB", "1.5GB" or "4096" (bytes); throws `InvalidArgument` naming `what`.
Bytes parse_bytes(std::string_view text, std::string_view what);

}  // namespace hocket::platform
