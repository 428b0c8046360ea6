// SPDX-License-Identifier: Apache-2.0
#include "opencl/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "opencl/error.hpp"
#include "opencl/query.hpp"

namespace hocket::opencl_backend {
namespace {

/// What keeps a device from being used; empty where nothing does.
std::string reason_against(cl_device_id device) {
  if (device_value<cl_bool>(device, CL_DEVICE_AVAILABLE, CL_TRUE) == CL_FALSE)
    return "its driver says that it is not available";
  if (device_value<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE, CL_TRUE) == CL_FALSE)
    return "its driver has no compiler";
  const std::string version = device_string(device, CL_DEVICE_VERSION);
  int major = 0;
  int minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
    return fmt::format("it offers \"{}\", and OpenCL 1.2 is needed", version);
  return {};
}

void add_devices(cl_platform_id platform, Discovery& discovery) {
  const std::string name = query_string([&](std::size_t size, void* out, std::size_t* needed) {
    return clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, out, needed);
  });
  cl_uint count = 0;
  cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> ids(count);
  if (status == CL_SUCCESS && count > 0)
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr);
  if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && count == 0)) {
    discovery.trouble += fmt::format("OpenCL platform \"{}\" has no devices; ", name);
    return;
  }
  if (status != CL_SUCCESS) {
    discovery.trouble +=
        fmt::format("OpenCL platform \"{}\" failed to list its devices: {}; ", name, status_name(status));
    return;
  }
  for (cl_device_id id : ids) {
    FoundDevice device;
    device.id = id;
    device.number = discovery.devices.size();
    device.type = device_value<cl_device_type>(id, CL_DEVICE_TYPE, CL_DEVICE_TYPE_DEFAULT);
    device.name = device_string(id, CL_DEVICE_NAME);
    if (device.name.empty()) device.name = fmt::format("unnamed device of {}", name);
    device.platform = name;
    device.unusable = reason_against(id);
    if (!device.unusable.empty())
      discovery.trouble += fmt::format("OpenCL device {} ({}) cannot be used: {}; ", device.number,
                                       device.name, device.unusable);
    discovery.devices.push_back(std::move(device));
  }
}

constexpr double kDefaultMegahertz = 1000.0;  // For drivers that answer 0.

}  // namespace

Discovery discover() {
  Discovery discovery;
  cl_uint count = 0;
  cl_int status = clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (status == CL_SUCCESS && count > 0) status = clGetPlatformIDs(count, platforms.data(), nullptr);
  constexpr cl_int kPlatformNotFound = -1001;  // CL_PLATFORM_NOT_FOUND_KHR of cl_ext.h: what the loader says.
  if (status == kPlatformNotFound || (status == CL_SUCCESS && count == 0)) {
    discovery.trouble =
        "no OpenCL driver is installed (the loader found no platform); install that of the device, or "
        "pocl-opencl-icd to run on the CPU";
    return discovery;
  }
  if (status != CL_SUCCESS) {
    discovery.trouble =
        fmt::format("the OpenCL loader failed to list its platforms: {}", status_name(status));
    return discovery;
  }
  for (cl_platform_id platform : platforms) add_devices(platform, discovery);
  if (discovery.trouble.size() >= 2)
    discovery.trouble.resize(discovery.trouble.size() - 2);  // The last "; ".
  return discovery;
}

Selection parse_selection(std::string_view specification) {
  Selection selection;
  if (specification.empty()) return selection;
  for (const cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_ACCELERATOR}) {
    if (specification != type_name(type)) continue;
    selection.type = type;
    return selection;
  }
  std::size_t number = 0;
  const char* const end = specification.data() + specification.size();
  const auto [stopped, error] = std::from_chars(specification.data(), end, number);
  if (error != std::errc{} || stopped != end)
    throw InvalidArgument(
        fmt::format("OpenCL devices are chosen as \"opencl\" (all), \"opencl:NUMBER\" (one, counted from 0), "
                    "\"opencl:gpu\", "
                    "\"opencl:cpu\" or \"opencl:accelerator\"; \"opencl:{}\" is none of these",
                    specification));
  selection.number = number;
  return selection;
}

bool selects(const Selection& selection, const FoundDevice& device) {
  if (selection.number) return device.number == *selection.number;
  return !selection.type || (device.type & *selection.type) != 0;
}

std::string_view type_name(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return "accelerator";
  return "device";
}

std::string list_of(const std::vector<FoundDevice>& devices) {
  if (devices.empty()) return "none";
  std::string list;
  for (const FoundDevice& device : devices)
    list += fmt::format("{}{} = {} ({})", list.empty() ? "" : ", ", device.number, device.name,
                        type_name(device.type));
  return list;
}

DeviceProperties properties_of(const FoundDevice& device) {
  DeviceProperties properties;
  cl_device_id id = device.id;
  const bool is_cpu = (device.type & CL_DEVICE_TYPE_CPU) != 0;
  properties.kind = "opencl";
  properties.name = device.name;
  properties.execution = Execution::Asynchronous;
  properties.units = std::max<cl_uint>(device_value<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS, 1), 1);
  properties.concurrency = 1;
  properties.in_flight = 4;
  properties.on_request_only = is_cpu;

  // A device that shares the host's memory leaves half of it to everyone else; one with its own keeps a tenth
  // back for the driver, programs and display.
  const auto memory = device_value<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  const bool shares_memory =
      is_cpu || device_value<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE) == CL_TRUE;
  properties.memory = Bytes{shares_memory ? memory / 2 : memory / 10 * 9};

  // Nominal rates from what OpenCL tells: clock and units. Per unit and clock, a CPU core does one fused
  // multiply-add of its native vector width; a GPU's unit is taken to have 64 lanes for single precision, of
  // which data-centre models use half and others far fewer for double: 16 lanes of multiply-add is the
  // middle. Bandwidths per unit and clock are 4 bytes for cores and 8 for GPU units, within a factor of two
  // for common models. History replaces these after the first measurements.
  auto megahertz = static_cast<double>(device_value<cl_uint>(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, 0));
  if (megahertz <= 0.0) megahertz = kDefaultMegahertz;
  const double unit_clocks_per_second = megahertz * 1e6 * properties.units;
  const double vector_width =
      std::max<cl_uint>(device_value<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 0), 1);
  properties.flops_per_second = unit_clocks_per_second * 2.0 * (is_cpu ? vector_width : 16.0);
  properties.bytes_per_second = unit_clocks_per_second * (is_cpu ? 4.0 : 8.0);

  // Shared memory: one copying thread, and the latency of a hand-over to the driver's thread. Else a PCIe 3
  // link of 16 lanes.
  properties.link_bytes_per_second = shares_memory ? 5e9 : 12e9;
  properties.link_latency = Seconds{shares_memory ? 70e-6 : 10e-6};
  return properties;
}

}  // namespace hocket::opencl_backend
