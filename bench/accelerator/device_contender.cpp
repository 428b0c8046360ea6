// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "accelerator/kernels.hpp"

namespace hocket::bench::accelerator {
namespace {

Shape line() {
  Shape shape;
  shape.rank = 1;
  shape.extent[0] = kElements;
  return shape;
}

class OnDevice final : public Contender {
 public:
  OnDevice(const std::string& kind, Pattern pattern, std::size_t tasks)
      : backend_(kind == "pim" ? make_pim_backend() : make_opencl_backend()), tasks_(tasks) {
    if (backend_ == nullptr) throw std::runtime_error("the backend " + kind + " is not built in");
    auto devices = backend_->open(specification(kind));
    if (devices.empty()) throw std::runtime_error(kind + ": " + backend_->why_none());
    device_ = std::move(devices.front());
    device_->set_waker([this] {
      { const std::lock_guard lock(mutex_); }
      changed_.notify_one();
    });
    for (const auto& variant : touch().core()->variants)
      if (variant->device_kind() == kind) variant_ = variant;
    const Format format = device_->preferred_format(parameter().element, Access::ReadWrite);
    for (std::size_t i = 0; i < (pattern == Pattern::Chain ? 1 : tasks); ++i) {
      Argument argument;
      argument.parameter = parameter();
      argument.buffer = {device_->allocate(line(), format), line(), {1, 1, 1, 1}, format};
      arguments_.push_back(argument);
      std::array<int, kElements> zeros{};
      copy(CopyDirection::HostToDevice, host(zeros.data()), arguments_.back().buffer);
    }
  }
  ~OnDevice() override {
    for (const Argument& argument : arguments_) device_->release(argument.buffer.memory);
  }

  void run() override {
    std::vector<EventHandle> events;
    events.reserve(tasks_);
    for (std::size_t i = 0; i < tasks_; ++i)
      events.push_back(device_->launch(LaneId{0}, *variant_, {&arguments_[i % arguments_.size()], 1}));
    wait(events.back());
    for (const EventHandle& event : events)
      if (event->done() && event->failure() != nullptr) std::rethrow_exception(event->failure());
  }
  int value(std::size_t i) override {
    std::array<int, kElements> elements{};
    copy(CopyDirection::DeviceToHost, arguments_[i].buffer, host(elements.data()));
    return elements[0];
  }

 private:
  static Parameter parameter() { return touch().core()->parameters[0]; }
  static Buffer host(int* memory) {
    return {memory, line(), {1, 1, 1, 1}, {parameter().element, Layout::RowMajor}};
  }

  void copy(CopyDirection direction, const Buffer& from, const Buffer& to) {
    const Box all{{}, line()};
    wait(device_->copy(LaneId{0}, {direction, {from, all}, {to, all}}));
  }
  void wait(const EventHandle& event) {
    std::unique_lock lock(mutex_);
    while (!event->done()) changed_.wait_for(lock, std::chrono::milliseconds(1));
  }

  std::mutex mutex_;  // pairs the waker with the check of an event
  std::condition_variable changed_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<const Variant> variant_;
  std::size_t tasks_;
  std::vector<Argument> arguments_;
};

}  // namespace

std::unique_ptr<Contender> make_device(const std::string& kind, Pattern pattern, std::size_t tasks) {
  return std::make_unique<OnDevice>(kind, pattern, tasks);
}

}  // namespace hocket::bench::accelerator
