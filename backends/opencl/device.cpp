// SPDX-License-Identifier: Apache-2.0
#include "opencl/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "opencl/error.hpp"
#include "opencl/launch_sizes.hpp"
#include "opencl/query.hpp"

namespace hocket::opencl_backend {
namespace {

Owned<cl_context> create_context(cl_device_id id, const std::string& name) {
  cl_int status = CL_SUCCESS;
  Owned<cl_context> context(clCreateContext(nullptr, 1, &id, nullptr, nullptr, &status));
  check_status(status, "creating a context", name);
  return context;
}

cl_mem block(const Buffer& buffer) { return static_cast<cl_mem>(buffer.memory); }
std::byte* host_bytes(const Buffer& buffer) { return static_cast<std::byte*>(buffer.memory); }

/// Bytes of a dense block; the largest number where that overflows.
std::size_t dense_bytes(const Shape& shape, Format format) {
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  std::size_t bytes = format.element.bytes;
  for (const std::size_t extent : shape.extent) {
    if (extent != 0 && bytes > kLargest / extent) return kLargest;
    bytes *= extent;
  }
  return bytes;
}

}  // namespace

OpenclDevice::OpenclDevice(const FoundDevice& found)
    : properties_(properties_of(found)),
      name_(std::make_shared<const std::string>(found.name)),
      id_(found.id),
      has_doubles_(device_value<cl_device_fp_config>(found.id, CL_DEVICE_DOUBLE_FP_CONFIG, 0) != 0),
      is_cpu_((found.type & CL_DEVICE_TYPE_CPU) != 0),
      largest_block_bytes_(device_value<cl_ulong>(found.id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0)),
      context_(create_context(found.id, found.name)),
      programs_(context_.get(), found.id, found.name) {
  for (Lane& lane : lanes_) {
    cl_int status = CL_SUCCESS;
    lane.queue = Owned<cl_command_queue>(
        clCreateCommandQueue(context_.get(), id_, CL_QUEUE_PROFILING_ENABLE, &status));
    check_status(status, "creating a command queue", *name_);
  }
}

OpenclDevice::~OpenclDevice() {
  for (Lane& lane : lanes_) clFlush(lane.queue.get());  // Either lane may wait for the other.
  for (Lane& lane : lanes_) clFinish(lane.queue.get());
}

OpenclDevice::Lane& OpenclDevice::lane_at(LaneId lane) {
  if (index(lane) >= kLanes)
    throw InvalidArgument(
        fmt::format("OpenCL device {} has {} lanes; there is no lane {}", *name_, kLanes, index(lane)));
  return lanes_[index(lane)];
}

// ---- memory ----------------------------------------------------------------------------------------------

void* OpenclDevice::allocate(const Shape& shape, Format format) {
  if (!can_hold(format))
    throw InvalidArgument(fmt::format("OpenCL device {} cannot hold {} data", *name_, to_string(format)));
  const std::size_t bytes = std::max<std::size_t>(dense_bytes(shape, format), 1);
  const auto fail = [&](std::string_view why) {
    throw OutOfMemory(
        fmt::format("OpenCL device {} cannot allocate {} bytes for {} of shape {}: {}. It has {} bytes, of "
                    "which one block can "
                    "take {}; use smaller tiles",
                    *name_, bytes, to_string(format), to_string(shape), why, properties_.memory.count,
                    largest_block_bytes_));
  };
  if (largest_block_bytes_ != 0 && bytes > largest_block_bytes_) fail("that is too large for one block");
  cl_int status = CL_SUCCESS;
  cl_mem memory = clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  if (is_out_of_memory(status) || status == CL_INVALID_BUFFER_SIZE) fail(status_name(status));
  check_status(status, fmt::format("allocating {} bytes", bytes), *name_);
  return memory;
}

void OpenclDevice::release(void* memory) noexcept {
  if (memory != nullptr) clReleaseMemObject(static_cast<cl_mem>(memory));
}

// ---- lanes -----------------------------------------------------------------------------------------------

/// Queues an operation of one or more commands: `enqueue(i, &event)` queues the i-th. Where one cannot be
/// queued, those before it are waited for, since the caller takes a throw to mean that nothing uses its
/// memory.
template <class Enqueue>
std::shared_ptr<OpenclEvent> OpenclDevice::submit(Lane& lane, std::string operation, bool timed,
                                                  std::size_t commands, Enqueue enqueue) {
  while (!lane.in_flight.empty() && lane.in_flight.front()->done()) lane.in_flight.pop_front();
  const std::string what = operation;
  auto event = std::make_shared<OpenclEvent>(std::move(operation), name_, timed);
  event->reserve(commands);
  lane.in_flight.push_back(event);
  cl_int status = CL_SUCCESS;
  for (std::size_t i = 0; i < commands && status == CL_SUCCESS; ++i) {
    cl_event command = nullptr;
    status = enqueue(i, &command);
    if (status == CL_SUCCESS) event->add(command);
  }
  if (status == CL_SUCCESS) status = clFlush(lane.queue.get());
  if (status != CL_SUCCESS) {
    if (!event->empty()) clFinish(lane.queue.get());
    lane.in_flight.pop_back();
    check_status(status, what, *name_);
  }
  return event;
}

EventHandle OpenclDevice::watched(std::shared_ptr<OpenclEvent> event) const {
  waker_.watch(event->last());
  return event;
}

EventHandle OpenclDevice::record(LaneId lane) {
  Lane& at = lane_at(lane);
  return watched(submit(at, "a marker", false, 1, [&](std::size_t, cl_event* event) {
    return clEnqueueMarkerWithWaitList(at.queue.get(), 0, nullptr, event);
  }));
}

void OpenclDevice::wait(LaneId lane, const EventHandle& event) {
  Lane& at = lane_at(lane);
  if (event == nullptr || event->done())
    return;  // A failure is for the engine to pass on, not for the driver.
  const auto* awaited = dynamic_cast<const OpenclEvent*>(event.get());
  if (awaited == nullptr)
    throw InvalidArgument(
        fmt::format("OpenCL device {} can wait only for events of OpenCL devices within a lane", *name_));
  cl_event last = awaited->last();
  submit(at, "waiting for another lane", false, 1, [&](std::size_t, cl_event* barrier) {
    return clEnqueueBarrierWithWaitList(at.queue.get(), 1, &last, barrier);
  });
}

// ---- copies ----------------------------------------------------------------------------------------------

EventHandle OpenclDevice::copy(LaneId lane, const CopyRequest& request) {
  Lane& at = lane_at(lane);
  const CopyPlan plan = plan_copy(request);
  if (plan.commands.empty()) return record(lane);
  return watched(submit(at, fmt::format("a copy of {}", to_string(request.from.box)), true,
                        plan.commands.size(), [&](std::size_t i, cl_event* event) {
                          return enqueue_copy(at.queue.get(), request, plan, plan.commands[i], event);
                        }));
}

cl_int OpenclDevice::enqueue_copy(cl_command_queue queue, const CopyRequest& request, const CopyPlan& plan,
                                  const CopyPlan::Command& command, cl_event* event) const {
  const Buffer& from = request.from.buffer;
  const Buffer& to = request.to.buffer;
  const std::size_t* region = plan.region.data();
  const auto from_origin = region_origin(command.from, plan.from);
  const auto to_origin = region_origin(command.to, plan.to);
  constexpr std::array<std::size_t, 3> kStart{0, 0, 0};  // Host addresses carry their offset themselves.
  switch (request.direction) {
    case CopyDirection::HostToDevice:
      if (plan.contiguous())
        return clEnqueueWriteBuffer(queue, block(to), CL_FALSE, command.to, region[0],
                                    host_bytes(from) + command.from, 0, nullptr, event);
      return clEnqueueWriteBufferRect(queue, block(to), CL_FALSE, to_origin.data(), kStart.data(), region,
                                      plan.to.row_pitch, plan.to.slice_pitch, plan.from.row_pitch,
                                      plan.from.slice_pitch, host_bytes(from) + command.from, 0, nullptr,
                                      event);
    case CopyDirection::DeviceToHost:
      if (plan.contiguous())
        return clEnqueueReadBuffer(queue, block(from), CL_FALSE, command.from, region[0],
                                   host_bytes(to) + command.to, 0, nullptr, event);
      return clEnqueueReadBufferRect(queue, block(from), CL_FALSE, from_origin.data(), kStart.data(), region,
                                     plan.from.row_pitch, plan.from.slice_pitch, plan.to.row_pitch,
                                     plan.to.slice_pitch, host_bytes(to) + command.to, 0, nullptr, event);
    case CopyDirection::WithinDevice:
      if (plan.contiguous())
        return clEnqueueCopyBuffer(queue, block(from), block(to), command.from, command.to, region[0], 0,
                                   nullptr, event);
      return clEnqueueCopyBufferRect(queue, block(from), block(to), from_origin.data(), to_origin.data(),
                                     region, plan.from.row_pitch, plan.from.slice_pitch, plan.to.row_pitch,
                                     plan.to.slice_pitch, 0, nullptr, event);
  }
  return CL_INVALID_VALUE;
}

// ---- launches --------------------------------------------------------------------------------------------

EventHandle OpenclDevice::launch(LaneId lane, const Variant& variant, std::span<const Argument> arguments) {
  Lane& at = lane_at(lane);
  const auto* own = dynamic_cast<const OpenclVariant*>(&variant);
  if (own == nullptr)
    throw InvalidArgument(
        fmt::format("OpenCL device {} was given a variant for \"{}\" that is no OpenCL variant", *name_,
                    variant.device_kind()));
  const Kernel& kernel = programs_.kernel(*own);
  check_doubles(kernel, arguments);
  check_arguments(kernel.name, kernel.signature, arguments);
  const GroupLimits limits{kernel.largest_group, kernel.required_group, is_cpu_};
  const LaunchSizes sizes =
      launch_sizes(own->range ? own->range(arguments) : default_range(arguments), limits, kernel.name);
  if (sizes.empty()) return record(lane);
  set_arguments(kernel, arguments);
  return watched(
      submit(at, fmt::format("kernel '{}'", kernel.name), true, 1, [&](std::size_t, cl_event* event) {
        return clEnqueueNDRangeKernel(
            at.queue.get(), kernel.handle.get(), sizes.dimensions, nullptr, sizes.global.data(),
            sizes.driver_chooses_local ? nullptr : sizes.local.data(), 0, nullptr, event);
      }));
}

void OpenclDevice::check_doubles(const Kernel& kernel, std::span<const Argument> arguments) const {
  if (has_doubles_) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ElementType element = arguments[i].parameter.element;
    if (element.kind == ElementKind::Float && element.bytes == 8)
      throw DeviceError(
          fmt::format("OpenCL device {} has no double precision (cl_khr_fp64), which parameter {} of kernel "
                      "'{}' needs; keep "
                      "the task off this device, or let the variant want that parameter as float",
                      *name_, i, kernel.name));
  }
}

void OpenclDevice::set_arguments(const Kernel& kernel, std::span<const Argument> arguments) const {
  cl_uint position = 0;
  std::size_t parameter = 0;
  const auto set = [&](std::size_t bytes, const void* value) {
    const cl_int status = clSetKernelArg(kernel.handle.get(), position, bytes, value);
    if (status == CL_INVALID_ARG_SIZE)
      throw InvalidArgument(
          fmt::format("OpenCL kernel '{}': parameter {} of the codelet is passed as {} bytes, but the "
                      "kernel's parameter {} has "
                      "another size (both counted from 0)",
                      kernel.name, parameter, bytes, position));
    check_status(status, fmt::format("setting parameter {} of kernel '{}'", position, kernel.name), *name_);
    ++position;
  };
  for (const Argument& argument : arguments) {
    if (argument.parameter.is_data) {
      cl_mem memory = block(argument.buffer);
      set(sizeof(cl_mem), &memory);
      for (std::size_t d = 0; d < argument.parameter.rank; ++d) {
        const cl_ulong extent = argument.buffer.shape.extent[d];
        set(sizeof extent, &extent);
      }
    } else {
      set(argument.parameter.element.bytes, argument.scalar);
    }
    ++parameter;
  }
}

}  // namespace hocket::opencl_backend
