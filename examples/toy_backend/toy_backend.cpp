// SPDX-License-Identifier: Apache-2.0
#include "toy_backend.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace toy {
namespace {

class Event final : public hk::Event {
 public:
  bool done() override { return done_.load(std::memory_order_acquire); }
  std::exception_ptr failure() override { return failure_; }
  std::optional<hk::Seconds> busy() override { return busy_; }

  void finish(std::exception_ptr failure, hk::Seconds busy) {
    failure_ = std::move(failure);
    busy_ = busy;
    done_.store(true, std::memory_order_release);  // publishes the two above to whoever sees it done
    done_.notify_all();
  }
  void await() { done_.wait(false, std::memory_order_acquire); }

 private:
  std::atomic<bool> done_{false};
  std::exception_ptr failure_;
  hk::Seconds busy_{};
};

/// An in-order queue: a thread that runs one job after another. Its destructor runs what is left.
class Lane {
 public:
  explicit Lane(const std::function<void()>& waker)
      : waker_(waker), thread_([this](const std::stop_token& end) { work(end); }) {}

  hk::EventHandle enqueue(std::function<void()> job) {
    auto event = std::make_shared<Event>();
    {
      const std::lock_guard lock(mutex_);
      jobs_.emplace_back(std::move(job), event);
    }
    changed_.notify_one();
    return event;
  }

 private:
  using Job = std::pair<std::function<void()>, std::shared_ptr<Event>>;

  void work(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, end, [this] { return !jobs_.empty(); });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      run(job);
      lock.lock();
    }
  }
  void run(Job& job) {
    const auto begin = std::chrono::steady_clock::now();
    std::exception_ptr failure;
    try {
      job.first();
    } catch (...) {
      failure = std::current_exception();
    }
    job.first = nullptr;  // whoever sees the event done may destroy what the job refers to
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    job.second->finish(std::move(failure), hk::Seconds{elapsed.count()});
    if (waker_) waker_();
  }

  const std::function<void()>& waker_;
  std::mutex mutex_;  // protects the jobs
  std::deque<Job> jobs_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

/// `allocate` returns the address of a block, not that of its bytes: a handle that means nothing to the host.
using Block = std::vector<std::byte>;

/// Where a box begins.
std::byte* first_byte(const hk::CopyEnd& end, bool on_device) {
  std::size_t position = 0;
  for (std::size_t d = 0; d < hk::kMaxRank; ++d) position += end.box.offset[d] * end.buffer.strides[d];
  void* const memory = end.buffer.memory;
  auto* const first = on_device ? static_cast<Block*>(memory)->data() : static_cast<std::byte*>(memory);
  return first + position * end.buffer.format.element.bytes;
}

void copy_box(const hk::CopyRequest& request) {
  const auto* from = first_byte(request.from, request.direction != hk::CopyDirection::HostToDevice);
  auto* const to = first_byte(request.to, request.direction != hk::CopyDirection::DeviceToHost);
  const hk::Strides& a = request.from.buffer.strides;
  const hk::Strides& b = request.to.buffer.strides;
  const auto [n0, n1, n2, n3] = request.from.box.shape.extent;
  const std::size_t size = request.from.buffer.format.element.bytes;
  for (std::size_t i = 0; i < n0; ++i)
    for (std::size_t j = 0; j < n1; ++j)
      for (std::size_t k = 0; k < n2; ++k)
        for (std::size_t l = 0; l < n3; ++l)
          std::memcpy(to + (i * b[0] + j * b[1] + k * b[2] + l * b[3]) * size,
                      from + (i * a[0] + j * a[1] + k * a[2] + l * a[3]) * size, size);
}

class Device final : public hk::Device {
 public:
  Device() {
    properties_.kind = "toy";
    properties_.name = "toy device, two threads";
    properties_.memory = hk::kMiB * 64;  // the speeds keep their defaults; measurements soon replace them
  }

  const hk::DeviceProperties& properties() const override { return properties_; }
  std::uint32_t lanes() const override { return 2; }  // the first for kernels, the last for copies

  void* allocate(const hk::Shape& shape, hk::Format format) override {
    const hk::Bytes bytes = footprint(shape, format);
    if (bytes > properties_.memory - used_)
      throw hk::OutOfMemory(properties_.name + " has no room for " + std::to_string(bytes.count) + " bytes");
    auto block = std::make_unique<Block>(bytes.count);
    used_ += bytes;
    return block.release();
  }
  void release(void* memory) noexcept override {
    const std::unique_ptr<Block> block(static_cast<Block*>(memory));
    used_ -= hk::Bytes{block->size()};
  }

  hk::EventHandle copy(hk::LaneId lane, const hk::CopyRequest& request) override {
    return queue(lane).enqueue([request] { copy_box(request); });
  }
  hk::EventHandle launch(hk::LaneId lane, const hk::Variant& variant,
                         std::span<const hk::Argument> arguments) override {
    std::vector<hk::Argument> own(arguments.begin(), arguments.end());
    for (hk::Argument& argument : own)  // the kernel runs on the device, where handles have addresses
      if (void*& memory = argument.buffer.memory; argument.parameter.is_data)
        memory = static_cast<Block*>(memory)->data();
    return queue(lane).enqueue(
        [&run = static_cast<const Variant&>(variant).run, own = std::move(own)] { run(own); });
  }
  hk::EventHandle record(hk::LaneId lane) override {
    return queue(lane).enqueue([] {});
  }
  void wait(hk::LaneId lane, const hk::EventHandle& event) override {
    queue(lane).enqueue([awaited = std::static_pointer_cast<Event>(event)] { awaited->await(); });
  }
  void set_waker(std::function<void()> waker) override { waker_ = std::move(waker); }

 private:
  Lane& queue(hk::LaneId lane) { return lanes_[hk::index(lane)]; }

  hk::DeviceProperties properties_;
  hk::Bytes used_{};
  std::function<void()> waker_;
  std::array<Lane, 2> lanes_{Lane(waker_), Lane(waker_)};  // last: its threads end before the rest goes
};

class Backend final : public hk::Backend {
 public:
  std::string_view kind() const override { return "toy"; }
  std::vector<std::unique_ptr<hk::Device>> open(std::string_view specification) override {
    if (specification.size() > 1 || specification.find_first_not_of("123456789") != std::string_view::npos)
      throw hk::InvalidArgument("'toy:" + std::string(specification) +
                                "': write 1 to 9 devices, as in toy:2");
    std::vector<std::unique_ptr<hk::Device>> devices(specification.empty() ? 1 : specification[0] - '0');
    for (auto& device : devices) device = std::make_unique<Device>();
    return devices;
  }
};

}  // namespace

void Variant::check(std::string_view codelet, std::span<const hk::Parameter> parameters) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto wanted = wanted_format(i);
    if (own_parameters[i].element != (wanted ? wanted->element : parameters[i].element))
      throw hk::InvalidArgument(std::string(codelet) + ": the toy kernel has other elements in argument " +
                                std::to_string(i) + "; if they are to be converted, say .wants<T>(index)");
  }
}

std::unique_ptr<hk::Backend> make_backend() { return std::make_unique<Backend>(); }

}  // namespace toy
