// SPDX-License-Identifier: Apache-2.0
/// The thread that drives one asynchronous device: it starts copies and launches, keeps several in flight, and polls
/// their events. It never waits for one while another could start. The same thread, without a device, does the
/// copies and conversions within the host's memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/event_count.hpp"
#include "engine/lifecycle.hpp"

namespace hocket::engine {

class DeviceDriver {
 public:
  /// `device` is null for the host's own copies.
  DeviceDriver(const DeviceInfo* info, Device* device, Lifecycle& lifecycle, memory::Manager& memory,
               trace::Recorder& recorder, Driver& driver);
  DeviceDriver(const DeviceDriver&) = delete;
  DeviceDriver& operator=(const DeviceDriver&) = delete;
  ~DeviceDriver();

  void start();
  /// Ends the thread once nothing is in flight or queued.
  void stop();

  /// All of these from any thread; they only queue.
  void queue(memory::Transfer& transfer);
  void queue_present(detail::TaskNode& task);
  void room_made();
  void wake();

 private:
  struct Flight {
    detail::TaskRef task;                  ///< Either a task
    memory::Transfer* transfer = nullptr;  ///< or a copy.
    EventHandle event;
    Seconds began{};
  };

  void thread_main();
  bool start_transfers();
  bool start_launches();
  bool take_tasks();
  bool collect();
  void start(memory::Transfer& transfer);
  void launch(detail::TaskRef task);
  void over(Flight& flight);
  void finish_transfer(memory::Transfer& transfer, Seconds began, Seconds ended, std::exception_ptr failure);
  static std::exception_ptr copy_on_host(const memory::Transfer& transfer);

  const DeviceInfo* info_;
  Device* device_;
  Lifecycle& lifecycle_;
  memory::Manager& memory_;
  trace::Recorder& recorder_;
  Driver& driver_;

  std::mutex inbox_mutex_;  ///< Guards the two queues.
  std::deque<memory::Transfer*> transfers_;
  std::deque<detail::TaskRef> present_;
  std::atomic<bool> room_made_{false};
  std::atomic<bool> stopping_{false};
  /// Shared with the waker, which a device may call while this object goes: after the last event was seen done.
  std::shared_ptr<EventCount> events_ = std::make_shared<EventCount>();

  std::vector<Flight> in_flight_;  ///< The driving thread's own, as is the next.
  std::uint32_t taken_ = 0;        ///< Tasks taken from the policy that are not over.
  std::thread thread_;
};

}  // namespace hocket::engine
