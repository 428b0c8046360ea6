// SPDX-License-Identifier: Apache-2.0
#include "opencl/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hocket/error.hpp>

namespace hocket::opencl_backend {
namespace {

struct StatusName {
  cl_int status;
  std::string_view name;
};

// The loader's own code: cl_ext.h defines it, but needs no including for one number.
constexpr cl_int kPlatformNotFound = -1001;

constexpr std::array kNames{
    StatusName{CL_SUCCESS, "CL_SUCCESS"},
    StatusName{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    StatusName{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    StatusName{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    StatusName{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    StatusName{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    StatusName{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    StatusName{CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    StatusName{CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
    StatusName{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    StatusName{CL_MAP_FAILURE, "CL_MAP_FAILURE"},
    StatusName{CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    StatusName{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    StatusName{CL_COMPILE_PROGRAM_FAILURE, "CL_COMPILE_PROGRAM_FAILURE"},
    StatusName{CL_LINKER_NOT_AVAILABLE, "CL_LINKER_NOT_AVAILABLE"},
    StatusName{CL_LINK_PROGRAM_FAILURE, "CL_LINK_PROGRAM_FAILURE"},
    StatusName{CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    StatusName{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    StatusName{CL_INVALID_DEVICE_TYPE, "CL_INVALID_DEVICE_TYPE"},
    StatusName{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    StatusName{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    StatusName{CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    StatusName{CL_INVALID_QUEUE_PROPERTIES, "CL_INVALID_QUEUE_PROPERTIES"},
    StatusName{CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    StatusName{CL_INVALID_HOST_PTR, "CL_INVALID_HOST_PTR"},
    StatusName{CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    StatusName{CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    StatusName{CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    StatusName{CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    StatusName{CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    StatusName{CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    StatusName{CL_INVALID_KERNEL_DEFINITION, "CL_INVALID_KERNEL_DEFINITION"},
    StatusName{CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    StatusName{CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    StatusName{CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    StatusName{CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    StatusName{CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    StatusName{CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    StatusName{CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    StatusName{CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    StatusName{CL_INVALID_GLOBAL_OFFSET, "CL_INVALID_GLOBAL_OFFSET"},
    StatusName{CL_INVALID_EVENT_WAIT_LIST, "CL_INVALID_EVENT_WAIT_LIST"},
    StatusName{CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    StatusName{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    StatusName{CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    StatusName{CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    StatusName{CL_INVALID_PROPERTY, "CL_INVALID_PROPERTY"},
    StatusName{CL_INVALID_COMPILER_OPTIONS, "CL_INVALID_COMPILER_OPTIONS"},
    StatusName{CL_INVALID_LINKER_OPTIONS, "CL_INVALID_LINKER_OPTIONS"},
    StatusName{kPlatformNotFound, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

std::string status_name(cl_int status) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [status](const StatusName& entry) { return entry.status == status; });
  if (found == kNames.end()) return fmt::format("OpenCL status {}", status);
  return fmt::format("{} ({})", found->name, status);
}

bool is_out_of_memory(cl_int status) noexcept {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY ||
         status == CL_OUT_OF_RESOURCES;
}

void check_status(cl_int status, std::string_view what, std::string_view device) {
  if (status >= CL_SUCCESS) return;
  const std::string message =
      fmt::format("OpenCL device {}: {} failed: {}", device, what, status_name(status));
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY)
    throw OutOfMemory(message);
  throw DeviceError(message);
}

}  // namespace hocket::opencl_backend
