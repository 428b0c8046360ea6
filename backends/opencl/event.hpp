// SPDX-License-Identifier: Apache-2.0
/// The event of an operation that was queued as one or several commands in one in-order queue.
#pragma once

#include <atomic>
#include <hocket/backend.hpp>
#include <memory>
#include <string>
#include <vector>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

/// Commands are added by the driving thread before anyone else sees the event; after that all members may be
/// called from any thread. It holds on to the commands' OpenCL events as long as it lives, since drivers have
/// been seen to abort the process over a failed event whose handle was given up; the device keeps every
/// `OpenclEvent` until it is done. May outlive its device.
class OpenclEvent final : public Event {
 public:
  /// `operation` and `device` are for messages. A `timed` event answers `busy()`.
  OpenclEvent(std::string operation, std::shared_ptr<const std::string> device, bool timed)
      : operation_(std::move(operation)), device_(std::move(device)), timed_(timed) {}

  void reserve(std::size_t commands) { commands_.reserve(commands); }
  void add(cl_event command) { commands_.emplace_back(command); }
  bool empty() const noexcept { return commands_.empty(); }
  /// The last command's event: in an in-order queue it is over only when all others are.
  cl_event last() const noexcept { return commands_.back().get(); }

  bool done() override;
  std::exception_ptr failure() override;
  std::optional<Seconds> busy() override;

 private:
  static constexpr cl_int kRunning = 1;

  std::string operation_;
  std::shared_ptr<const std::string> device_;
  bool timed_;
  std::vector<Owned<cl_event>> commands_;
  // kRunning, then CL_COMPLETE or the first error. Release pairs with the acquire of a thread that finds it
  // set.
  std::atomic<cl_int> status_{kRunning};
};

}  // namespace hocket::opencl_backend
