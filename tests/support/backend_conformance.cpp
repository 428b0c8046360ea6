// SPDX-License-Identifier: Apache-2.0
#include "support/backend_conformance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace hocket::testing {
namespace {

using Word = std::uint32_t;
using Words = std::vector<Word>;
using Bytewise = std::vector<std::byte>;

constexpr ElementType kWord = element_type<Word>();

Format row_major(ElementType element) { return {element, Layout::RowMajor}; }

Shape shape_of(std::initializer_list<std::size_t> extents) {
  Shape shape;
  shape.rank = static_cast<std::uint8_t>(extents.size());
  std::copy(extents.begin(), extents.end(), shape.extent.begin());
  return shape;
}

Box whole(const Shape& shape) {
  Box box;
  box.shape = shape;
  return box;
}

Buffer host_buffer(void* memory, const Shape& shape, Format format) {
  return {memory, shape, dense_strides(shape), format};
}
Buffer host_buffer(Words& words) {
  return host_buffer(words.data(), shape_of({words.size()}), row_major(kWord));
}

/// Polls until the event is over; false where it is not within two minutes, which only a hang takes.
bool finishes(const EventHandle& event) {
  if (event == nullptr) return true;  // A device that runs on the calling thread may return none.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!event->done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

std::string failure_text(const EventHandle& event) {
  const std::exception_ptr failure = event == nullptr ? nullptr : event->failure();
  if (failure == nullptr) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return std::string("failed: ") + error.what();
  }
}

void expect_success(const EventHandle& event) {
  ASSERT_TRUE(finishes(event)) << "the event is never done";
  EXPECT_EQ(failure_text(event), "");
}

/// A block on the device, given back when it goes. Nothing may be in flight on it then.
class Block {
 public:
  Block(Device& device, const Shape& shape, Format format)
      : device_(device), buffer_(host_buffer(device.allocate(shape, format), shape, format)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { device_.release(buffer_.memory); }
  const Buffer& buffer() const { return buffer_; }

 private:
  Device& device_;
  Buffer buffer_;
};

/// Calls `visit(element index in a, element index in b)` for each element of a box that lies at two places.
template <class Visit>
void for_each_element(const Shape& box, const Box& at_a, const Strides& a, const Box& at_b, const Strides& b,
                      Visit visit) {
  std::array<std::size_t, kMaxRank> i{};
  for (i[0] = 0; i[0] < box.extent[0]; ++i[0])
    for (i[1] = 0; i[1] < box.extent[1]; ++i[1])
      for (i[2] = 0; i[2] < box.extent[2]; ++i[2])
        for (i[3] = 0; i[3] < box.extent[3]; ++i[3]) {
          std::size_t index_a = 0;
          std::size_t index_b = 0;
          for (std::size_t d = 0; d < kMaxRank; ++d) {
            index_a += (at_a.offset[d] + i[d]) * a[d];
            index_b += (at_b.offset[d] + i[d]) * b[d];
          }
          visit(index_a, index_b);
        }
}

class BackendConformance : public ::testing::Test {
 public:
  explicit BackendConformance(const ConformanceSubject& subject) : subject_(subject) {}

  void SetUp() override {
    backend_ = subject_.backend();
    if (backend_ == nullptr) GTEST_SKIP() << "the backend is not built in";
    devices_ = backend_->open(subject_.specification);
    if (devices_.empty()) GTEST_SKIP() << "no device: " << backend_->why_none();
  }

  Device& device() { return *devices_.front(); }
  LaneId launch_lane() { return LaneId{0}; }
  LaneId copy_lane() { return LaneId{device().lanes() - 1}; }
  bool copies() { return !device().properties().host_memory; }
  bool asynchronous() { return device().properties().execution == Execution::Asynchronous; }

  // ---- the pieces of a check
  // ----------------------------------------------------------------------------------

  EventHandle start_copy(LaneId lane, CopyDirection direction, const Buffer& from, const Buffer& to) {
    return device().copy(lane, {direction, {from, whole(from.shape)}, {to, whole(to.shape)}});
  }
  void upload(const Buffer& host, const Block& block) {
    expect_success(start_copy(copy_lane(), CopyDirection::HostToDevice, host, block.buffer()));
  }
  void download(const Block& block, const Buffer& host) {
    expect_success(start_copy(copy_lane(), CopyDirection::DeviceToHost, block.buffer(), host));
  }

  bool round_trips(Format format) {
    const Format host = row_major(format.element);
    return device().can_hold(format) && device().can_copy(CopyDirection::HostToDevice, host, format) &&
           device().can_copy(CopyDirection::DeviceToHost, format, host);
  }
  std::vector<Format> round_trip_formats() {
    std::vector<Format> formats;
    for (const ElementType element :
         {element_type<std::int32_t>(), element_type<double>(), element_type<std::uint8_t>(),
          element_type<std::int16_t>(), element_type<bf16>(), ElementType{ElementKind::Opaque, 12}})
      for (const Layout layout :
           {Layout::RowMajor, Layout::BankInterleaved, Layout::BankReplicated, Layout::BankSingle})
        if (round_trips({element, layout})) formats.push_back({element, layout});
    return formats;
  }

  std::size_t random_number(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }
  Shape random_shape(std::size_t rank, std::size_t most) {
    Shape shape;
    shape.rank = static_cast<std::uint8_t>(rank);
    for (std::size_t d = 0; d < rank; ++d) shape.extent[d] = random_number(1, most);
    return shape;
  }
  /// A place for a box of that shape in a larger one.
  Box random_place(const Shape& box, const Shape& enclosing) {
    Box place;
    place.shape = box;
    for (std::size_t d = 0; d < box.rank; ++d)
      place.offset[d] = random_number(0, enclosing.extent[d] - box.extent[d]);
    return place;
  }
  Shape random_box(const Shape& a, const Shape& b) {
    Shape box = a;
    for (std::size_t d = 0; d < a.rank; ++d)
      box.extent[d] = random_number(1, std::min(a.extent[d], b.extent[d]));
    return box;
  }
  Bytewise random_bytes(std::size_t count) {
    Bytewise bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_number(0, 255));
    return bytes;
  }
  Words random_words(std::size_t count) {
    Words words(count);
    for (Word& word : words) word = static_cast<Word>(random_number(0, 0xffffffffu));
    return words;
  }

  /// Operands of the kernel, on the device or in host memory as it needs them.
  struct Operands {
    Words x;
    Words y;
    std::unique_ptr<Block> x_block;
    std::unique_ptr<Block> y_block;
    std::shared_ptr<const Variant> variant;
  };
  Format kernel_format(const Variant& variant, std::size_t index, Access access) {
    return variant.wanted_format(index).value_or(device().preferred_format(kWord, access));
  }
  std::unique_ptr<Operands> operands(std::size_t count) {
    auto made = std::make_unique<Operands>();
    made->x = random_words(count);
    made->y = random_words(count);
    made->variant = subject_.step();
    if (copies()) {
      const Shape shape = shape_of({count});
      made->x_block =
          std::make_unique<Block>(device(), shape, kernel_format(*made->variant, 1, Access::Read));
      made->y_block =
          std::make_unique<Block>(device(), shape, kernel_format(*made->variant, 2, Access::ReadWrite));
      upload(host_buffer(made->x), *made->x_block);
      upload(host_buffer(made->y), *made->y_block);
    }
    return made;
  }
  /// `steps[i]` must stay valid until the event is done; the arguments need not.
  EventHandle launch(const Variant& variant, Operands& with, const Word& step) {
    const std::vector<Parameter> parameters = ConformanceParameters::parameters();
    const Buffer x = copies() ? with.x_block->buffer() : host_buffer(with.x);
    const Buffer y = copies() ? with.y_block->buffer() : host_buffer(with.y);
    const std::array<Argument, 3> arguments{Argument{parameters[0], &step, {}},
                                            Argument{parameters[1], nullptr, x},
                                            Argument{parameters[2], nullptr, y}};
    return device().launch(launch_lane(), variant, arguments);
  }
  static void apply_step(const Words& x, Words& y, Word step) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 3 * y[i] + x[i] + step;
  }
  Words result(Operands& of) {
    if (!copies()) return of.y;
    Words words(of.y.size());
    download(*of.y_block, host_buffer(words));
    return words;
  }

  // ---- the checks
  // ---------------------------------------------------------------------------------------------

  void opens_devices_with_sound_properties() {
    for (const auto& opened : devices_) {
      const DeviceProperties& properties = opened->properties();
      EXPECT_EQ(properties.kind, backend_->kind());
      EXPECT_FALSE(properties.name.empty());
      EXPECT_GE(properties.units, 1u);
      EXPECT_GE(properties.concurrency, 1u);
      EXPECT_GE(properties.in_flight, 1u);
      EXPECT_GE(opened->lanes(), 1u);
      EXPECT_GT(properties.memory.count, 0u);
      EXPECT_GT(properties.flops_per_second, 0.0);
      EXPECT_GT(properties.bytes_per_second, 0.0);
      EXPECT_GT(properties.link_bytes_per_second, 0.0);
      EXPECT_GE(properties.link_latency.count, 0.0);
    }
  }

  void refuses_a_specification_that_it_does_not_understand() {
    try {
      backend_->open(subject_.bad_specification);
      FAIL() << "accepted \"" << subject_.bad_specification << "\"";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(subject_.bad_specification), std::string::npos)
          << "the message does not quote what was given: " << error.what();
    }
    EXPECT_FALSE(backend_->open(subject_.specification).empty()) << "a refusal must not spoil the backend";
  }

  void keeps_blocks_apart() {
    if (!copies()) GTEST_SKIP() << "the device computes in host memory";
    const Format format = device().preferred_format(kWord, Access::ReadWrite);
    const Shape shape = shape_of({1000});
    EXPECT_GE(device().footprint(shape, format).count, shape.elements() * kWord.bytes);
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Words> contents;
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(std::make_unique<Block>(device(), shape, format));
      contents.push_back(random_words(1000));
      upload(host_buffer(contents.back()), *blocks.back());
      if (i % 3 == 2) {  // Room that was given back is given out again.
        blocks.erase(blocks.end() - 2);
        contents.erase(contents.end() - 2);
      }
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      Words found(1000);
      download(*blocks[i], host_buffer(found));
      EXPECT_EQ(found, contents[i]) << "block " << i;
    }
  }

  void says_that_memory_ran_out_and_stays_usable() {
    if (!copies()) GTEST_SKIP() << "the device computes in host memory";
    const Format format = device().preferred_format(kWord, Access::ReadWrite);
    const std::size_t too_many = device().properties().memory.count;  // Four times the capacity, in bytes.
    EXPECT_THROW(device().allocate(shape_of({too_many}), format), OutOfMemory);
    Words sent = random_words(100);
    Words back(100);
    const Block block(device(), shape_of({100}), format);
    upload(host_buffer(sent), block);
    download(block, host_buffer(back));
    EXPECT_EQ(back, sent);
  }

  void round_trips_whole_buffers_of_every_format() {
    if (!copies()) GTEST_SKIP() << "the device computes in host memory";
    const std::vector<Format> formats = round_trip_formats();
    ASSERT_FALSE(formats.empty()) << "the device can copy no format there and back";
    for (const Format format : formats)
      for (std::size_t rank = 1; rank <= kMaxRank; ++rank) {
        const Shape shape = random_shape(rank, 12);
        Bytewise sent = random_bytes(shape.elements() * format.element.bytes);
        Bytewise back(sent.size());
        const Block block(device(), shape, format);
        upload(host_buffer(sent.data(), shape, row_major(format.element)), block);
        download(block, host_buffer(back.data(), shape, row_major(format.element)));
        EXPECT_EQ(back, sent) << to_string(format) << ", " << to_string(shape);
      }
  }

  /// Random boxes up, down and across, against the same copies between plain arrays.
  void copies_random_boxes_of_every_format() {
    if (!copies()) GTEST_SKIP() << "the device computes in host memory";
    bool any = false;
    for (const Format format : round_trip_formats()) {
      any = true;
      for (std::size_t rank = 1; rank <= kMaxRank; ++rank)
        for (int round = 0; round < 4; ++round) copy_random_boxes(format, rank);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    if (!any) GTEST_SKIP() << "the device copies whole buffers only";
  }
  void copy_random_boxes(Format format, std::size_t rank) {
    const std::size_t bytes = format.element.bytes;
    const Shape on_host = random_shape(rank, 9);
    const Shape on_device = random_shape(rank, 9);
    // The host's array is a part of a larger one.
    Strides strides = dense_strides(on_host);
    std::size_t room = on_host.extent[0] * strides[0];
    if (rank > 1) {
      const std::size_t margin = random_number(0, 3);
      for (std::size_t d = 0; d + 1 < rank; ++d)
        strides[d] = strides[d] / on_host.extent[rank - 1] * (on_host.extent[rank - 1] + margin);
      room = on_host.extent[0] * strides[0];
    }
    Bytewise host = random_bytes(room * bytes);
    Bytewise model_host = host;
    Bytewise model_device = random_bytes(on_device.elements() * bytes);
    const Buffer host_side{host.data(), on_host, strides, row_major(format.element)};
    const Strides dense = dense_strides(on_device);
    const Block block(device(), on_device, format);
    upload(host_buffer(model_device.data(), on_device, row_major(format.element)), block);

    for (int step = 0; step < 6; ++step) {
      const Shape box = random_box(on_host, on_device);
      const Box at_host = random_place(box, on_host);
      const Box at_device = random_place(box, on_device);
      const bool up = step % 2 == 0;
      const CopyEnd host_end{host_side, at_host};
      const CopyEnd device_end{block.buffer(), at_device};
      expect_success(up ? device().copy(copy_lane(), {CopyDirection::HostToDevice, host_end, device_end})
                        : device().copy(copy_lane(), {CopyDirection::DeviceToHost, device_end, host_end}));
      for_each_element(box, at_host, strides, at_device, dense, [&](std::size_t h, std::size_t d) {
        std::byte* const host_element = &model_host[h * bytes];
        std::byte* const device_element = &model_device[d * bytes];
        std::memcpy(up ? device_element : host_element, up ? host_element : device_element, bytes);
      });
      ASSERT_EQ(host, model_host) << to_string(format) << (up ? ", up " : ", down ") << to_string(at_host)
                                  << " and " << to_string(at_device);
    }
    if (device().can_copy(CopyDirection::WithinDevice, format, format)) {
      const Shape other_shape = random_shape(rank, 9);
      const Block other(device(), other_shape, format);
      Bytewise model_other = random_bytes(other_shape.elements() * bytes);
      upload(host_buffer(model_other.data(), other_shape, row_major(format.element)), other);
      const Shape box = random_box(on_device, other_shape);
      const Box from = random_place(box, on_device);
      const Box to = random_place(box, other_shape);
      expect_success(device().copy(
          copy_lane(), {CopyDirection::WithinDevice, {block.buffer(), from}, {other.buffer(), to}}));
      for_each_element(box, from, dense, to, dense_strides(other_shape), [&](std::size_t f, std::size_t t) {
        std::memcpy(&model_other[t * bytes], &model_device[f * bytes], bytes);
      });
      Bytewise found(model_other.size());
      download(other, host_buffer(found.data(), other_shape, row_major(format.element)));
      ASSERT_EQ(found, model_other) << to_string(format) << ", within the device, " << to_string(from)
                                    << " to " << to_string(to);
    }
    Bytewise found(model_device.size());
    download(block, host_buffer(found.data(), on_device, row_major(format.element)));
    ASSERT_EQ(found, model_device) << to_string(format) << ", device's " << to_string(on_device);
  }

  void converts_where_it_says_that_it_can() {
    if (!copies()) GTEST_SKIP() << "the device computes in host memory";
    const Format narrow = row_major(element_type<bf16>());
    const Format wide = row_major(element_type<float>());
    if (!device().can_hold(narrow) || !device().can_copy(CopyDirection::HostToDevice, wide, narrow) ||
        !device().can_copy(CopyDirection::DeviceToHost, narrow, wide))
      GTEST_SKIP() << "the device does not convert between f32 and bf16";
    std::vector<float> sent(100);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<float>(i) - 50.0f;  // Exact in bf16.
    std::vector<float> back(sent.size());
    const Shape shape = shape_of({sent.size()});
    const Block block(device(), shape, narrow);
    upload(host_buffer(sent.data(), shape, wide), block);
    download(block, host_buffer(back.data(), shape, wide));
    EXPECT_EQ(back, sent);
  }

  void runs_a_kernel() {
    for (const std::size_t count : {std::size_t{1}, std::size_t{64}, std::size_t{1009}}) {
      const auto with = operands(count);
      Words expected = with->y;
      apply_step(with->x, expected, 7);
      const Word step = 7;
      const EventHandle event = launch(*with->variant, *with, step);
      expect_success(event);
      EXPECT_EQ(result(*with), expected) << count << " elements";
      if (event == nullptr) continue;
      EXPECT_GE(event->busy().value_or(Seconds{0.0}).count, 0.0);
      if (device().properties().emulated) {
        const auto modelled = event->modelled();
        ASSERT_TRUE(modelled.has_value()) << "an emulated device gives the time of the real hardware";
        EXPECT_GT(modelled->count, 0.0);
      }
    }
  }

  void runs_what_is_in_a_lane_in_order() {
    if (!asynchronous()) GTEST_SKIP() << "the device has no queue";
    const auto with = operands(300);
    Words expected = with->y;
    Words steps(100);
    std::vector<EventHandle> events;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i] = static_cast<Word>(i);
      apply_step(with->x, expected, steps[i]);
      events.push_back(launch(*with->variant, *with, steps[i]));
    }
    expect_success(device().record(launch_lane()));
    for (const EventHandle& event : events) {
      EXPECT_TRUE(event->done()) << "the lane's record was done before what was queued ahead of it";
      expect_success(event);
    }
    EXPECT_EQ(result(*with), expected);
  }

  /// Uploads, kernels and downloads without ever waiting on this thread in between.
  void orders_lanes_by_record_and_wait() {
    if (!copies() || !asynchronous()) GTEST_SKIP() << "the device has no lanes to order";
    constexpr std::size_t kRounds = 40;
    const auto with = operands(4096);
    Words expected = with->y;
    std::vector<Words> x(kRounds);
    std::vector<Words> y(kRounds, Words(4096));
    std::vector<Words> wanted;
    Words steps(kRounds);
    EventHandle last;
    for (std::size_t i = 0; i < kRounds; ++i) {
      x[i] = random_words(4096);
      steps[i] = static_cast<Word>(i);
      apply_step(x[i], expected, steps[i]);
      wanted.push_back(expected);
      start_copy(copy_lane(), CopyDirection::HostToDevice, host_buffer(x[i]), with->x_block->buffer());
      device().wait(launch_lane(), device().record(copy_lane()));
      device().wait(copy_lane(), launch(*with->variant, *with, steps[i]));
      last = start_copy(copy_lane(), CopyDirection::DeviceToHost, with->y_block->buffer(), host_buffer(y[i]));
    }
    expect_success(last);
    for (std::size_t i = 0; i < kRounds; ++i) ASSERT_EQ(y[i], wanted[i]) << "round " << i;
  }

  void records_an_idle_lane_and_waits_for_what_is_done() {
    if (!asynchronous()) GTEST_SKIP() << "the device has no queue";
    for (std::uint32_t lane = 0; lane < device().lanes(); ++lane) {
      const EventHandle event = device().record(LaneId{lane});
      expect_success(event);
      device().wait(launch_lane(), event);
      device().wait(copy_lane(), event);
    }
    expect_success(device().record(launch_lane()));
    expect_success(device().record(copy_lane()));
  }

  void calls_the_waker_and_not_after_its_end() {
    if (!asynchronous()) GTEST_SKIP() << "the device never makes its caller wait";
    struct Calls {
      std::atomic<int> count{0};
      std::atomic<bool> device_is_gone{false};
      std::atomic<bool> late{false};
    } calls;
    device().set_waker([&calls] {
      ++calls.count;
      if (calls.device_is_gone) calls.late = true;
    });
    bool pending = false;
    {
      const auto with = operands(5000);
      Words steps(20);
      std::vector<EventHandle> events;
      for (Word& step : steps) {
        events.push_back(launch(*with->variant, *with, step));
        pending = pending || !events.back()->done();
      }
      for (const EventHandle& event : events) expect_success(event);
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (pending && calls.count == 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      EXPECT_TRUE(!pending || calls.count > 0) << "events became done and nobody was told";
    }
    devices_.clear();
    calls.device_is_gone = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(calls.late) << "the waker was called after the device was destroyed";
  }

  void answers_about_events_to_many_threads() {
    if (!asynchronous()) GTEST_SKIP() << "the device has no events";
    const auto with = operands(2000);
    Words expected = with->y;
    Words steps(30, 5);
    for (const Word step : steps) apply_step(with->x, expected, step);
    std::vector<EventHandle> events;
    for (const Word& step : steps) events.push_back(launch(*with->variant, *with, step));
    std::atomic<int> answered{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (const EventHandle& event : events)
          if (finishes(event) && event->failure() == nullptr) {
            event->busy();
            event->modelled();
            ++answered;
          }
      });
    for (std::jthread& thread : threads) thread.join();
    EXPECT_EQ(answered, 90);
    EXPECT_EQ(result(*with), expected);
  }

  void allocates_on_another_thread_while_work_is_queued() {
    if (!copies() || !asynchronous()) GTEST_SKIP() << "the device computes in host memory";
    const auto with = operands(2000);
    Words expected = with->y;
    Words steps(40, 9);
    for (const Word step : steps) apply_step(with->x, expected, step);
    const Format format = device().preferred_format(kWord, Access::ReadWrite);
    std::jthread other([&] {
      for (std::size_t i = 1; i <= 200; ++i) {
        const Shape shape = shape_of({i});
        EXPECT_GE(device().footprint(shape, format).count, i * kWord.bytes);
        const Block block(device(), shape, format);
      }
    });
    std::vector<EventHandle> events;
    for (const Word& step : steps) events.push_back(launch(*with->variant, *with, step));
    other.join();
    for (const EventHandle& event : events) expect_success(event);
    EXPECT_EQ(result(*with), expected);
  }

  void reports_a_launch_that_fails_and_stays_usable() {
    if (!subject_.failing) GTEST_SKIP() << "the backend has no kernel that fails";
    const auto with = operands(200);
    const Words before = with->y;
    const Word step = 1;
    const std::shared_ptr<const Variant> failing = subject_.failing();
    for (int attempt = 0; attempt < 2; ++attempt) {
      std::string message;
      try {
        const EventHandle event = launch(*failing, *with, step);
        ASSERT_TRUE(finishes(event)) << "a failed launch is never done";
        message = failure_text(event);
      } catch (const std::exception& error) {
        message = error.what();
      }
      EXPECT_FALSE(message.empty()) << "the failure was not reported, attempt " << attempt;
    }
    // What a failed kernel left in its operands is not defined, so they are set again.
    with->y = before;
    if (copies()) upload(host_buffer(with->y), *with->y_block);
    Words expected = before;
    apply_step(with->x, expected, step);
    expect_success(launch(*with->variant, *with, step));
    EXPECT_EQ(result(*with), expected);
  }

 private:
  const ConformanceSubject& subject_;
  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mt19937_64 random_{20240229};
};

struct Check {
  const char* name;
  void (BackendConformance::*body)();
};
using C = BackendConformance;
constexpr std::array kChecks{
    Check{"OpensDevicesWithSoundProperties", &C::opens_devices_with_sound_properties},
    Check{"RefusesASpecificationThatItDoesNotUnderstand",
          &C::refuses_a_specification_that_it_does_not_understand},
    Check{"KeepsBlocksApart", &C::keeps_blocks_apart},
    Check{"SaysThatMemoryRanOutAndStaysUsable", &C::says_that_memory_ran_out_and_stays_usable},
    Check{"RoundTripsWholeBuffersOfEveryFormat", &C::round_trips_whole_buffers_of_every_format},
    Check{"CopiesRandomBoxesOfEveryFormat", &C::copies_random_boxes_of_every_format},
    Check{"ConvertsWhereItSaysThatItCan", &C::converts_where_it_says_that_it_can},
    Check{"RunsAKernel", &C::runs_a_kernel},
    Check{"RunsWhatIsInALaneInOrder", &C::runs_what_is_in_a_lane_in_order},
    Check{"OrdersLanesByRecordAndWait", &C::orders_lanes_by_record_and_wait},
    Check{"RecordsAnIdleLaneAndWaitsForWhatIsDone", &C::records_an_idle_lane_and_waits_for_what_is_done},
    Check{"CallsTheWakerAndNotAfterItsEnd", &C::calls_the_waker_and_not_after_its_end},
    Check{"AnswersAboutEventsToManyThreads", &C::answers_about_events_to_many_threads},
    Check{"AllocatesOnAnotherThreadWhileWorkIsQueued", &C::allocates_on_another_thread_while_work_is_queued},
    Check{"ReportsALaunchThatFailsAndStaysUsable", &C::reports_a_launch_that_fails_and_stays_usable},
};

class ConformanceTest final : public BackendConformance {
 public:
  ConformanceTest(std::shared_ptr<const ConformanceSubject> subject, Check check)
      : BackendConformance(*subject), subject_(std::move(subject)), check_(check) {}
  void TestBody() override { (this->*check_.body)(); }

 private:
  std::shared_ptr<const ConformanceSubject> subject_;
  Check check_;
};

}  // namespace

bool add_backend_conformance(ConformanceSubject subject) {
  const auto shared = std::make_shared<const ConformanceSubject>(std::move(subject));
  for (const Check check : kChecks)
    ::testing::RegisterTest(
        shared->suite.c_str(), check.name, nullptr, nullptr, __FILE__, __LINE__,
        [shared, check]() -> BackendConformance* { return new ConformanceTest(shared, check); });
  return true;
}

}  // namespace hocket::testing
