// SPDX-License-Identifier: Apache-2.0
#include "opencl/waker.hpp"

#include <mutex>
#include <unordered_map>

namespace hocket::opencl_backend {

struct Waker::Slot {
  std::mutex mutex;  // Guards `function`, and is held while it runs so that ~Waker can wait for it.
  std::function<void()> function;
};

struct Waker::Table {
  std::mutex mutex;  // Guards the rest.
  std::unordered_map<std::uintptr_t, std::shared_ptr<Slot>> slots;
  std::uintptr_t last_number = 0;
};

Waker::Table& Waker::table() {
  // Never destroyed: a driver's thread may call back while the process ends.
  static Table& table = *new Table;
  return table;
}

Waker::Waker() : slot_(std::make_shared<Slot>()) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  number_ = ++all.last_number;
  all.slots.emplace(number_, slot_);
}

Waker::~Waker() {
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    all.slots.erase(number_);
  }
  // A callback may have fetched the slot just before.
  const std::lock_guard lock(slot_->mutex);
  slot_->function = nullptr;
}

void Waker::set(std::function<void()> function) {
  const std::lock_guard lock(slot_->mutex);
  slot_->function = std::move(function);
}

void Waker::watch(cl_event event) const noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number on purpose, never dereferenced.
  clSetEventCallback(event, CL_COMPLETE, &Waker::on_event, reinterpret_cast<void*>(number_));
}

void CL_CALLBACK Waker::on_event(cl_event /*event*/, cl_int /*status*/, void* number) noexcept {
  std::shared_ptr<Slot> slot;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    const auto found = all.slots.find(reinterpret_cast<std::uintptr_t>(number));
    if (found == all.slots.end()) return;
    slot = found->second;
  }
  const std::lock_guard lock(slot->mutex);
  try {
    if (slot->function) slot->function();
  } catch (...) {
    // The driver's C code cannot carry an exception; the engine polls, so nothing is lost.
  }
}

}  // namespace hocket::opencl_backend
