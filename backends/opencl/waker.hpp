// SPDX-License-Identifier: Apache-2.0
/// Calls a device's waker when its OpenCL events complete. Drivers call back from threads of their own, even
/// after the event was seen complete and its queue finished, and some never call for a failed event: what a
/// callback is given must neither dangle nor be freed by it. So it is given a number, which it looks up in a
/// table that lives as long as the process and from which a destroyed device has been struck.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

class Waker {
 public:
  Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  /// Waits for a call that is in progress; none follows. Not to be destroyed by the function itself.
  ~Waker();

  /// Any thread. Replaces the function; calls before the first `set` do nothing.
  void set(std::function<void()> function);
  /// Any thread. Has the function called when the event is over. A driver that refuses is no error: the
  /// engine polls as well.
  void watch(cl_event event) const noexcept;

 private:
  struct Slot;
  struct Table;
  static Table& table();
  static void CL_CALLBACK on_event(cl_event event, cl_int status, void* number) noexcept;

  std::shared_ptr<Slot> slot_;
  std::uintptr_t number_ = 0;
};

}  // namespace hocket::opencl_backend
