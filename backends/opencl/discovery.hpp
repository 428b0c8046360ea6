// SPDX-License-Identifier: Apache-2.0
/// Which OpenCL devices this machine has, and what is known of them before anything runs. Never throws for a
/// driver that misbehaves: what cannot be used carries the reason.
#pragma once

#include <cstddef>
#include <hocket/backend.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

struct FoundDevice {
  cl_device_id id = nullptr;
  std::size_t number = 0;  ///< Over all platforms, in the order of the loader.
  cl_device_type type = CL_DEVICE_TYPE_DEFAULT;
  std::string name;
  std::string platform;
  std::string unusable;  ///< Why it cannot be used; empty where it can.
};

struct Discovery {
  std::vector<FoundDevice> devices;
  std::string trouble;  ///< Why there are none, or what a driver failed at; for people.
};

Discovery discover();

/// The devices that a specification names: all, one by number, or those of a type.
struct Selection {
  std::optional<std::size_t> number;
  std::optional<cl_device_type> type;
};

/// "" (all), "0" (by number), "gpu", "cpu", "accelerator"; throws `InvalidArgument` for anything else.
Selection parse_selection(std::string_view specification);

bool selects(const Selection& selection, const FoundDevice& device);

/// "gpu", "cpu", "accelerator", or "device" for what is neither.
std::string_view type_name(cl_device_type type);

/// The devices on one line: "0 = NVIDIA H200 (gpu), 1 = pthread-... (cpu)"; "none" where there are none.
std::string list_of(const std::vector<FoundDevice>& devices);

DeviceProperties properties_of(const FoundDevice& device);

}  // namespace hocket::opencl_backend
