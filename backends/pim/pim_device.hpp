// SPDX-License-Identifier: Apache-2.0
/// The emulated PIM device behind the backend seam. A DPU set is busy as a whole while it computes or talks
/// to the host, so the device has one lane: an internal thread that runs copies and launches in the order of
/// their submission. See <hocket/backend.hpp> for the contract of each call.
#pragma once

#include <functional>
#include <hocket/backend.hpp>
#include <hocket/pim.hpp>
#include <memory>
#include <span>

#include "pim/bank_layout.hpp"
#include "pim/dpu_set.hpp"
#include "pim/mram_allocator.hpp"
#include "pim/serial_executor.hpp"

namespace hocket::dpu {

class PimDevice final : public Device {
 public:
  explicit PimDevice(const Configuration& configuration);
  ~PimDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  Format preferred_format(ElementType element, Access access) const override;
  bool can_hold(Format format) const override;
  bool can_copy(CopyDirection direction, Format from, Format to) const override;
  Bytes footprint(const Shape& shape, Format format) const override;

  /// Takes the same range of every bank; the contents are what was there before. Returns a `MramAddress*`.
  void* allocate(const Shape& shape, Format format) override;
  void release(void* memory) noexcept override;

  EventHandle copy(LaneId lane, const CopyRequest& request) override;
  EventHandle launch(LaneId lane, const Variant& variant, std::span<const Argument> arguments) override;
  EventHandle record(LaneId lane) override;
  /// There is one lane, so what is queued from now on comes after every event anyway.
  void wait(LaneId lane, const EventHandle& event) override;
  void set_waker(std::function<void()> waker) override;

 private:
  static BankedArray banked(const Buffer& buffer);
  EventHandle enqueue(std::function<Seconds()> operation);

  DeviceProperties properties_;
  DpuSet set_;               // touched by the executor's thread alone once the device is open
  MramAllocator allocator_;  // the engine calls allocate and release one at a time
  std::function<void()> waker_;
  SerialExecutor executor_;  // last: its thread ends before what it uses goes
};

}  // namespace hocket::dpu
