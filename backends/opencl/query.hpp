// SPDX-License-Identifier: Apache-2.0
/// Typed access to the clGet...Info functions. Each answers with a fallback where the driver does not know,
/// since drivers differ in what they answer and a missing detail must not keep a device from being used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

/// A string out of `get(size, buffer, &needed)`; empty where the driver does not know.
template <class Get>
std::string query_string(Get get) {
  std::size_t needed = 0;
  if (get(std::size_t{0}, nullptr, &needed) != CL_SUCCESS || needed == 0) return {};
  std::string text(needed, '\0');
  if (get(needed, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(std::min(text.find('\0'), text.size()));
  const std::size_t first = text.find_first_not_of(' ');  // Some drivers pad their names.
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

inline std::string device_string(cl_device_id device, cl_device_info info) {
  return query_string([&](std::size_t size, void* out, std::size_t* needed) {
    return clGetDeviceInfo(device, info, size, out, needed);
  });
}

template <class T>
T device_value(cl_device_id device, cl_device_info info, T fallback) {
  T value{};
  return clGetDeviceInfo(device, info, sizeof(T), &value, nullptr) == CL_SUCCESS ? value : fallback;
}

}  // namespace hocket::opencl_backend
