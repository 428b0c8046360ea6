// SPDX-License-Identifier: Apache-2.0
/// The OpenCL C API at level 1.2, and ownership of its objects. The only file that includes the OpenCL
/// headers, so that the API level is the same everywhere.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <utility>

namespace hocket::opencl_backend {

inline void release_handle(cl_context handle) noexcept { clReleaseContext(handle); }
inline void release_handle(cl_command_queue handle) noexcept { clReleaseCommandQueue(handle); }
inline void release_handle(cl_program handle) noexcept { clReleaseProgram(handle); }
inline void release_handle(cl_kernel handle) noexcept { clReleaseKernel(handle); }
inline void release_handle(cl_event handle) noexcept { clReleaseEvent(handle); }

/// Owns one reference to an OpenCL object. Movable, empty by default.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) noexcept : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) release_handle(handle_);
  }

  Handle get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  Handle handle_ = nullptr;
};

}  // namespace hocket::opencl_backend
