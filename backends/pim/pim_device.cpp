// SPDX-License-Identifier: Apache-2.0
#include "pim/pim_device.hpp"

#include <atomic>
#include <cassert>
#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hocket::dpu {
namespace {

class PimEvent final : public Event {
 public:
  bool done() override { return done_.load(std::memory_order_acquire); }
  std::exception_ptr failure() override { return failure_; }
  std::optional<Seconds> busy() override { return busy_; }
  std::optional<Seconds> modelled() override { return modelled_; }

  void finish(std::exception_ptr failure, Seconds busy, Seconds modelled) {
    failure_ = std::move(failure);
    busy_ = busy;
    modelled_ = modelled;
    done_.store(true, std::memory_order_release);  // publishes the fields above to whoever sees done()
  }

 private:
  std::atomic<bool> done_{false};
  std::exception_ptr failure_;
  Seconds busy_{};
  Seconds modelled_{};
};

// What the emulator itself reaches on one core of an ordinary machine; starting points for a scheduler that
// has not measured yet. Modelled speeds come with each event.
constexpr double kEmulatorFlopsPerSecond = 3e8;
constexpr double kEmulatorBytesPerSecond = 2e9;
constexpr double kEmulatorLinkBytesPerSecond = 2e9;

}  // namespace

PimDevice::PimDevice(const Configuration& configuration)
    : set_(configuration), allocator_(configuration.mram_bytes) {
  properties_.kind = "pim";
  properties_.name = "UPMEM-like PIM (" + std::to_string(set_.dpus()) + " DPUs of " +
                     std::to_string(set_.tasklets()) + " tasklets, emulated)";
  properties_.execution = Execution::Asynchronous;
  properties_.units = set_.dpus();
  properties_.concurrency = 1;
  properties_.memory = Bytes{std::uint64_t{set_.mram_bytes()} * set_.dpus()};
  properties_.flops_per_second = kEmulatorFlopsPerSecond;
  properties_.bytes_per_second = kEmulatorBytesPerSecond;
  properties_.link_bytes_per_second = kEmulatorLinkBytesPerSecond;
  properties_.emulated = true;
  properties_.on_request_only = true;
}

PimDevice::~PimDevice() = default;

Format PimDevice::preferred_format(ElementType element, Access) const {
  return {element, Layout::BankInterleaved};
}

bool PimDevice::can_hold(Format format) const { return is_bank_format(format); }

bool PimDevice::can_copy(CopyDirection direction, Format from, Format to) const {
  if (from.element != to.element) return false;
  switch (direction) {
    case CopyDirection::HostToDevice:
      return from.layout == Layout::RowMajor && is_bank_format(to) && to.layout != Layout::BankPartialSum;
    case CopyDirection::DeviceToHost:
      return is_bank_format(from) && to.layout == Layout::RowMajor;
    case CopyDirection::WithinDevice:
      return false;  // no path leads from one DPU to another
  }
  return false;
}

Bytes PimDevice::footprint(const Shape& shape, Format format) const {
  return Bytes{std::uint64_t{bytes_per_bank(shape, format, set_.dpus())} * set_.dpus()};
}

void* PimDevice::allocate(const Shape& shape, Format format) {
  if (!can_hold(format)) {
    throw InvalidArgument("pim: banks cannot hold data in the format " + to_string(format) +
                          "; use a bank layout");
  }
  auto address = std::make_unique<MramAddress>();
  *address = allocator_.allocate(bytes_per_bank(shape, format, set_.dpus()));
  return address.release();
}

void PimDevice::release(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::unique_ptr<MramAddress> address(static_cast<MramAddress*>(memory));
  allocator_.release(*address);
}

BankedArray PimDevice::banked(const Buffer& buffer) {
  return {*static_cast<const MramAddress*>(buffer.memory), buffer.shape, buffer.format};
}

EventHandle PimDevice::enqueue(std::function<Seconds()> operation) {
  auto event = std::make_shared<PimEvent>();
  executor_.submit([this, event, operation = std::move(operation)]() mutable {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::exception_ptr failure;
    Seconds modelled{};
    try {
      modelled = operation();
    } catch (...) {
      failure = std::current_exception();
    }
    operation = nullptr;  // whoever sees the event done may destroy what the operation refers to
    event->finish(std::move(failure), Seconds{std::chrono::duration<double>(Clock::now() - begin).count()},
                  modelled);
    if (waker_) waker_();
  });
  return event;
}

EventHandle PimDevice::copy(LaneId, const CopyRequest& request) {
  if (!can_copy(request.direction, request.from.buffer.format, request.to.buffer.format)) {
    throw InvalidArgument("pim: no copy leads from " + to_string(request.from.buffer.format) + " to " +
                          to_string(request.to.buffer.format) + "; go through row-major host memory");
  }
  if (request.from.box.shape.extent != request.to.box.shape.extent) {
    throw InvalidArgument("pim: a copy from box " + to_string(request.from.box) + " to box " +
                          to_string(request.to.box) + "; the boxes must have the same shape");
  }
  const bool to_device = request.direction == CopyDirection::HostToDevice;
  const CopyEnd& device_end = to_device ? request.to : request.from;
  const CopyEnd& host_end = to_device ? request.from : request.to;
  HostBox host;
  host.strides = host_end.buffer.strides;
  std::size_t position = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) position += host_end.box.offset[d] * host.strides[d];
  host.first =
      static_cast<std::byte*>(host_end.buffer.memory) + position * host_end.buffer.format.element.bytes;
  return enqueue([this, to_device, host, array = banked(device_end.buffer), box = device_end.box] {
    return to_device ? copy_to_banks(set_, array, box, host) : copy_from_banks(set_, array, box, host);
  });
}

EventHandle PimDevice::launch(LaneId, const Variant& variant, std::span<const Argument> arguments) {
  const auto* program = dynamic_cast<const PimVariant*>(&variant);
  if (program == nullptr) {
    throw InvalidArgument("pim: a variant for devices of kind \"" + variant.device_kind() +
                          "\" cannot run here; build it with hocket::pim(program)");
  }
  std::vector<BankedArray> partials;
  for (const Argument& argument : arguments) {
    if (argument.parameter.is_data && argument.buffer.format.layout == Layout::BankPartialSum) {
      partials.push_back(banked(argument.buffer));
    }
  }
  return enqueue([this, program, own = std::vector<Argument>(arguments.begin(), arguments.end()),
                  partials = std::move(partials)] {
    Seconds modelled{};
    for (const BankedArray& array : partials) modelled += zero_banks(set_, array);
    modelled += set_.launch([&](Tasklet& tasklet) { program->run(tasklet, own); }).modelled;
    return modelled;
  });
}

EventHandle PimDevice::record(LaneId) {
  return enqueue([] { return Seconds{}; });
}

void PimDevice::wait(LaneId, const EventHandle& event) {
  assert(event != nullptr);
  (void)event;
}

void PimDevice::set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

}  // namespace hocket::dpu
