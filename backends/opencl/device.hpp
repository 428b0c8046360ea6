// SPDX-License-Identifier: Apache-2.0
/// One OpenCL device behind the seam: a context of its own and two in-order queues with profiling, lane 0 for
/// launches and lane 1 for copies. Memory blocks are `cl_mem` handles.
#pragma once

#include <array>
#include <deque>
#include <hocket/backend.hpp>
#include <memory>
#include <string>

#include "opencl/copy_plan.hpp"
#include "opencl/discovery.hpp"
#include "opencl/event.hpp"
#include "opencl/handle.hpp"
#include "opencl/program_cache.hpp"
#include "opencl/waker.hpp"

namespace hocket::opencl_backend {

class OpenclDevice final : public Device {
 public:
  /// Throws `DeviceError` where the driver does not open the device.
  explicit OpenclDevice(const FoundDevice& found);
  ~OpenclDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  std::uint32_t lanes() const override { return kLanes; }
  void* allocate(const Shape& shape, Format format) override;
  void release(void* memory) noexcept override;
  EventHandle copy(LaneId lane, const CopyRequest& request) override;
  EventHandle launch(LaneId lane, const Variant& variant, std::span<const Argument> arguments) override;
  EventHandle record(LaneId lane) override;
  void wait(LaneId lane, const EventHandle& event) override;
  void set_waker(std::function<void()> waker) override { waker_.set(std::move(waker)); }

 private:
  static constexpr std::uint32_t kLanes = 2;

  struct Lane {
    Owned<cl_command_queue> queue;
    /// Everything queued and not yet seen done, oldest first; only the driving thread touches it.
    std::deque<std::shared_ptr<OpenclEvent>> in_flight;
  };

  Lane& lane_at(LaneId lane);
  template <class Enqueue>
  std::shared_ptr<OpenclEvent> submit(Lane& lane, std::string operation, bool timed, std::size_t commands,
                                      Enqueue enqueue);
  /// Has the waker called when it is over.
  EventHandle watched(std::shared_ptr<OpenclEvent> event) const;
  cl_int enqueue_copy(cl_command_queue queue, const CopyRequest& request, const CopyPlan& plan,
                      const CopyPlan::Command& command, cl_event* event) const;
  void set_arguments(const Kernel& kernel, std::span<const Argument> arguments) const;
  void check_doubles(const Kernel& kernel, std::span<const Argument> arguments) const;

  DeviceProperties properties_;
  std::shared_ptr<const std::string> name_;  // Shared with events, which may outlive the device.
  cl_device_id id_;
  bool has_doubles_;
  bool is_cpu_;
  std::size_t largest_block_bytes_;
  Owned<cl_context> context_;
  Waker waker_;
  ProgramCache programs_;
  std::array<Lane, kLanes> lanes_;
};

}  // namespace hocket::opencl_backend
