// SPDX-License-Identifier: Apache-2.0
/// Names of OpenCL's status codes, and their translation into the exceptions of the library.
#pragma once

#include <string>
#include <string_view>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

/// "CL_OUT_OF_RESOURCES (-5)"; an unknown code gives "OpenCL status -123".
std::string status_name(cl_int status);

/// Whether the code says that memory on the device or in the driver ran out.
bool is_out_of_memory(cl_int status) noexcept;

/// Throws where `status` is an error: `OutOfMemory` when memory ran out, else `DeviceError`. `what` says what
/// was tried, `device` on what: "OpenCL device X: WHAT failed: CL_...".
void check_status(cl_int status, std::string_view what, std::string_view device);

}  // namespace hocket::opencl_backend
