// SPDX-License-Identifier: Apache-2.0
#include "engine/device_driver.hpp"

#include <algorithm>
#include <utility>

#include "graph/datum.hpp"
#include "memory/host_copy.hpp"

namespace hocket::engine {

using detail::TaskNode;
using detail::TaskRef;
using memory::Replica;
using memory::Transfer;

namespace {

/// Where a box of the datum lies in a replica.
CopyEnd end_in(const Replica& replica, const Box& box) {
  CopyEnd end;
  end.buffer = {replica.memory, replica.box.shape, replica.strides, replica.format};
  end.box = box;
  for (std::size_t d = 0; d < kMaxRank; ++d) end.box.offset[d] -= replica.box.offset[d];
  return end;
}

std::byte* address(const CopyEnd& end) {
  std::size_t offset = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) offset += end.box.offset[d] * end.buffer.strides[d];
  return static_cast<std::byte*>(end.buffer.memory) + offset * end.buffer.format.element.bytes;
}

/// While something is in flight the thread wakes this often, in case a device failed to call its waker.
constexpr Seconds kPollInterval{2e-3};

}  // namespace

DeviceDriver::DeviceDriver(const DeviceInfo* info, Device* device, Lifecycle& lifecycle,
                           memory::Manager& memory, trace::Recorder& recorder, Driver& driver)
    : info_(info),
      device_(device),
      lifecycle_(lifecycle),
      memory_(memory),
      recorder_(recorder),
      driver_(driver) {}

DeviceDriver::~DeviceDriver() { stop(); }

void DeviceDriver::start() {
  if (device_ != nullptr) device_->set_waker([events = events_] { events->notify_one(); });
  thread_ = std::thread([this] { thread_main(); });
}

void DeviceDriver::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(inbox_mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  events_->notify_one();
  thread_.join();
}

void DeviceDriver::queue(Transfer& transfer) {
  {
    const std::lock_guard lock(inbox_mutex_);
    // Behind those that are at least as urgent.
    const auto place =
        std::upper_bound(transfers_.begin(), transfers_.end(), transfer.priority,
                         [](int priority, const Transfer* queued) { return priority > queued->priority; });
    transfers_.insert(place, &transfer);
  }
  events_->notify_one();
}

void DeviceDriver::queue_present(TaskNode& task) {
  {
    const std::lock_guard lock(inbox_mutex_);
    present_.emplace_back(&task);
  }
  events_->notify_one();
}

void DeviceDriver::room_made() {
  {
    const std::lock_guard lock(inbox_mutex_);
    room_made_.store(true, std::memory_order_relaxed);
  }
  events_->notify_one();
}

void DeviceDriver::wake() {
  {
    const std::lock_guard lock(inbox_mutex_);
  }  // orders the caller's change before the check of a thread about to sleep
  events_->notify_one();
}

void DeviceDriver::thread_main() {
  while (true) {
    bool progress = start_transfers();
    progress |= start_launches();
    progress |= take_tasks();
    progress |= collect();
    if (progress) continue;

    const std::uint64_t ticket = events_->prepare();
    bool stopping = false;
    {
      const std::lock_guard lock(inbox_mutex_);
      progress = !transfers_.empty() || !present_.empty() || room_made_.load(std::memory_order_relaxed);
      stopping = stopping_.load(std::memory_order_relaxed);
    }
    progress |= take_tasks();
    progress |= collect();
    if (progress) {
      events_->cancel();
    } else if (!in_flight_.empty()) {
      events_->wait_for(ticket, kPollInterval);
    } else if (stopping) {
      events_->cancel();
      return;
    } else {
      events_->wait(ticket);
    }
  }
}

bool DeviceDriver::start_transfers() {
  bool progress = false;
  while (true) {
    Transfer* transfer = nullptr;
    {
      const std::lock_guard lock(inbox_mutex_);
      if (transfers_.empty()) return progress;
      transfer = transfers_.front();
      transfers_.pop_front();
    }
    start(*transfer);
    progress = true;
  }
}

void DeviceDriver::start(Transfer& transfer) {
  const Seconds began = driver_.now();
  if (transfer.hop.device == nullptr) {
    const std::exception_ptr failure = copy_on_host(transfer);
    finish_transfer(transfer, began, driver_.now(), failure);
    return;
  }
  try {
    const CopyRequest request{transfer.hop.direction, end_in(*transfer.from, transfer.box),
                              end_in(*transfer.to, transfer.box)};
    Flight flight;
    flight.event = device_->copy(LaneId{device_->lanes() - 1}, request);
    flight.transfer = &transfer;
    flight.began = began;
    in_flight_.push_back(std::move(flight));
  } catch (...) {
    finish_transfer(transfer, began, driver_.now(), std::current_exception());
  }
}

std::exception_ptr DeviceDriver::copy_on_host(const Transfer& transfer) {
  const CopyEnd from = end_in(*transfer.from, transfer.box);
  const CopyEnd to = end_in(*transfer.to, transfer.box);
  const Shape& shape = transfer.box.shape;
  if (transfer.hop.conversion) {
    transfer.hop.conversion->convert(address(from), from.buffer.strides, address(to), to.buffer.strides,
                                     shape);
  } else {
    memory::copy_elements(address(from), from.buffer.strides, address(to), to.buffer.strides, shape,
                          from.buffer.format.element.bytes);
  }
  return nullptr;
}

void DeviceDriver::finish_transfer(Transfer& transfer, Seconds began, Seconds ended,
                                   std::exception_ptr failure) {
  const std::string name = transfer.datum->name();
  if (!failure)
    recorder_.transfer(
        {&name, transfer.from->node, transfer.to->node, transfer.bytes, transfer.reason, began, ended});
  memory_.finish(transfer, failure);
}

bool DeviceDriver::start_launches() {
  bool progress = false;
  if (device_ == nullptr) return false;
  if (room_made_.exchange(false, std::memory_order_relaxed)) {
    taken_ -= lifecycle_.retry_without_room(info_->memory_node);
    progress = true;
  }
  while (true) {
    TaskRef task;
    {
      const std::lock_guard lock(inbox_mutex_);
      if (present_.empty()) return progress;
      task = std::move(present_.front());
      present_.pop_front();
    }
    launch(std::move(task));
    progress = true;
  }
}

bool DeviceDriver::take_tasks() {
  bool progress = false;
  if (device_ == nullptr) return false;
  while (taken_ < info_->properties.in_flight) {
    TaskRef task = lifecycle_.take(info_->id, 0);
    if (!task) break;
    progress = true;
    if (lifecycle_.refuse(*task)) continue;
    ++taken_;
    switch (lifecycle_.place(*task, info_->id)) {
      case Placing::Present:
        launch(std::move(task));
        break;
      case Placing::Waiting:
        break;
      case Placing::Over:
        --taken_;
        break;
    }
  }
  return progress;
}

void DeviceDriver::launch(TaskRef task) {
  if (lifecycle_.refuse(*task, true) || lifecycle_.fail_without_operands(*task)) {
    --taken_;
    return;
  }
  Flight flight;
  flight.began = driver_.now();
  Lifecycle::running(*task, 0);
  try {
    const std::vector<Argument> arguments = Lifecycle::arguments(*task);
    const Variant& variant = *Lifecycle::variant_for(task->core(), *info_);
    flight.event = device_->launch(LaneId{0}, variant, arguments);
  } catch (...) {
    flight.event = completed_event(std::current_exception());
  }
  flight.task = std::move(task);
  in_flight_.push_back(std::move(flight));
}

bool DeviceDriver::collect() {
  bool progress = false;
  for (std::size_t i = 0; i < in_flight_.size();) {
    if (!in_flight_[i].event->done()) {
      ++i;
      continue;
    }
    Flight flight = std::move(in_flight_[i]);
    in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    over(flight);
    progress = true;
  }
  return progress;
}

void DeviceDriver::over(Flight& flight) {
  const Seconds ended = driver_.now();
  const std::exception_ptr failure = flight.event->failure();
  // Several may be queued on the device at once: it was at this one for the last part of the time.
  const std::optional<Seconds> busy = failure ? std::nullopt : flight.event->busy();
  const Seconds began = busy && ended - *busy > flight.began ? ended - *busy : flight.began;
  if (flight.transfer != nullptr) {
    finish_transfer(*flight.transfer, began, ended, failure);
    return;
  }
  --taken_;
  Outcome outcome;
  outcome.failure = failure;
  outcome.ended = ended;
  outcome.busy = busy;
  outcome.modelled = failure ? std::nullopt : flight.event->modelled();
  outcome.began = began;
  lifecycle_.finished(*flight.task, outcome, 0, false);
}

}  // namespace hocket::engine
