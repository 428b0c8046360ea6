// SPDX-License-Identifier: Apache-2.0
#include "opencl/event.hpp"

#include <fmt/format.h>

#include "opencl/error.hpp"

namespace hocket::opencl_backend {
namespace {

/// The state of a command: positive while it is not over. An error of the question itself counts as the
/// command's.
cl_int execution_status(cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int asked =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return asked == CL_SUCCESS ? status : asked;
}

}  // namespace

bool OpenclEvent::done() {
  if (status_.load(std::memory_order_acquire) != kRunning) return true;
  // The last one first: usually one question answers "not yet".
  cl_int result = CL_COMPLETE;
  for (auto command = commands_.rbegin(); command != commands_.rend(); ++command) {
    const cl_int status = execution_status(command->get());
    if (status > CL_COMPLETE) return false;
    if (status < CL_COMPLETE) result = status;
  }
  // Asking for the state is no synchronisation point; only waiting, which returns at once here, makes the
  // command's writes to host memory visible.
  if (result == CL_COMPLETE && !commands_.empty()) {
    cl_event event = last();
    const cl_int waited = clWaitForEvents(1, &event);
    if (waited != CL_SUCCESS) result = waited;
  }
  status_.store(result, std::memory_order_release);
  return true;
}

std::exception_ptr OpenclEvent::failure() {
  const cl_int status = status_.load(std::memory_order_acquire);
  if (status >= CL_COMPLETE) return nullptr;
  return std::make_exception_ptr(DeviceError(fmt::format("OpenCL device {}: {} failed while it ran: {}",
                                                         *device_, operation_, status_name(status))));
}

std::optional<Seconds> OpenclEvent::busy() {
  if (!timed_ || status_.load(std::memory_order_acquire) != CL_COMPLETE) return std::nullopt;
  double nanoseconds = 0.0;
  for (const Owned<cl_event>& command : commands_) {
    cl_ulong start = 0;
    cl_ulong end = 0;
    if (clGetEventProfilingInfo(command.get(), CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr) !=
            CL_SUCCESS ||
        clGetEventProfilingInfo(command.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr) !=
            CL_SUCCESS ||
        end < start)
      return std::nullopt;
    nanoseconds += static_cast<double>(end - start);
  }
  return Seconds{nanoseconds * 1e-9};
}

}  // namespace hocket::opencl_backend
