// SPDX-License-Identifier: Apache-2.0
// The PIM device behind the backend seam, and codelets with a PIM variant.
#include "pim/pim_device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <hocket/pim.hpp>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hocket {
namespace {

constexpr LaneId kLane{0};

Shape shape_of(std::initializer_list<std::size_t> extents) {
  Shape shape;
  shape.rank = static_cast<std::uint8_t>(extents.size());
  std::size_t d = 0;
  for (const std::size_t extent : extents) shape.extent[d++] = extent;
  return shape;
}

/// An open device with helpers to speak through the seam as the engine does.
class PimSeam {
 public:
  explicit PimSeam(const std::string& dpus) {
    auto devices = make_pim_backend()->open(dpus);
    device_ = std::move(devices.at(0));
    device_->set_waker([this] { ++wakes_; });
  }
  ~PimSeam() {
    for (void* memory : allocated_) device_->release(memory);
  }
  PimSeam(const PimSeam&) = delete;
  PimSeam& operator=(const PimSeam&) = delete;

  Device& device() { return *device_; }
  int wakes() const { return wakes_; }

  template <class T>
  Buffer allocate(const Shape& shape, Layout layout) {
    const Format format{element_type<T>(), layout};
    allocated_.push_back(device_->allocate(shape, format));
    return {allocated_.back(), shape, dense_strides(shape), format};
  }
  template <class T>
  static Buffer host(std::vector<T>& values, const Shape& shape) {
    return {values.data(), shape, dense_strides(shape), {element_type<T>(), Layout::RowMajor}};
  }
  template <class T>
  Buffer send(std::vector<T> values, const Shape& shape, Layout layout) {
    const Buffer buffer = allocate<T>(shape, layout);
    finish(device_->copy(
        kLane, {CopyDirection::HostToDevice, {host(values, shape), {{}, shape}}, {buffer, {{}, shape}}}));
    return buffer;
  }
  template <class T>
  std::vector<T> fetch(const Buffer& buffer) {
    std::vector<T> values(buffer.shape.elements());
    finish(device_->copy(kLane, {CopyDirection::DeviceToHost,
                                 {buffer, {{}, buffer.shape}},
                                 {host(values, buffer.shape), {{}, buffer.shape}}}));
    return values;
  }
  /// Waits for the event and throws what it failed with.
  static EventHandle finish(const EventHandle& event) {
    while (!event->done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (event->failure()) std::rethrow_exception(event->failure());
    return event;
  }

 private:
  std::atomic<int> wakes_{0};
  std::unique_ptr<Device> device_;
  std::vector<void*> allocated_;
};

template <class T>
Argument scalar(const T& value) {
  return {{false, Access::Read, element_type<T>(), 0, alignof(T)}, &value, {}};
}
Argument data(const Buffer& buffer, Access access) {
  return {{true, access, buffer.format.element, buffer.shape.rank, 1}, nullptr, buffer};
}

void saxpy_program(dpu::Tasklet& tasklet, float a, dpu::Mram<const float> x, dpu::Mram<float> y) {
  auto xs = tasklet.buffer<float>(128);
  auto ys = tasklet.buffer<float>(128);
  dpu::for_each_block(tasklet, y.size(), 128, [&](std::size_t first, std::size_t count) {
    const float* in = xs.load(x, first, count);
    float* out = ys.load(y, first, count);
    for (std::size_t i = 0; i < count; ++i) out[i] += a * in[i];
    tasklet.charge<float>(dpu::Operation::Multiply, count);
    tasklet.charge<float>(dpu::Operation::Add, count);
    ys.store(y, first, count);
  });
}

using Saxpy = Codelet<void(float, View<const float>, View<float>)>;

const Variant& pim_variant_of(const std::shared_ptr<const detail::CodeletCore>& core) {
  for (const auto& variant : core->variants)
    if (variant->device_kind() == "pim") return *variant;
  throw std::logic_error("no pim variant");
}

TEST(PimBackend, OpensOneDeviceOfAsManyDpusAsAskedFor) {
  const auto backend = make_pim_backend();
  EXPECT_EQ(backend->kind(), "pim");
  EXPECT_EQ(backend->open("")[0]->properties().units, 64u);
  const auto devices = backend->open("12");
  ASSERT_EQ(devices.size(), 1u);
  const DeviceProperties& properties = devices[0]->properties();
  EXPECT_EQ(properties.kind, "pim");
  EXPECT_EQ(properties.units, 12u);
  EXPECT_TRUE(properties.emulated);
  EXPECT_FALSE(properties.host_memory);
  EXPECT_EQ(properties.memory.count, std::uint64_t{12} << 26);
}

TEST(PimBackend, RefusesSpecificationsThatAreNoNumberOfDpus) {
  const auto backend = make_pim_backend();
  for (const char* bad : {"0", "2561", "-4", "four", "64x", " 4", "99999999999999999999"}) {
    try {
      backend->open(bad);
      ADD_FAILURE() << bad;
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("pim:") + bad), std::string::npos) << error.what();
    }
  }
}

TEST(PimDevice, RunsACodeletOnInterleavedData) {
  const Saxpy saxpy{"saxpy", pim(saxpy_program)};
  for (const char* dpus : {"1", "3", "64"}) {
    for (const std::size_t n : {1u, 2u, 5u, 63u, 1000u, 9001u}) {
      PimSeam seam(dpus);
      std::vector<float> x(n), y(n, 1.0f);
      std::iota(x.begin(), x.end(), 0.0f);
      const Buffer bx = seam.send(x, shape_of({n}), Layout::BankInterleaved);
      const Buffer by = seam.send(y, shape_of({n}), Layout::BankInterleaved);
      const float a = 2.0f;
      const std::vector<Argument> arguments{scalar(a), data(bx, Access::Read), data(by, Access::ReadWrite)};
      seam.finish(seam.device().launch(kLane, pim_variant_of(saxpy.core()), arguments));
      const std::vector<float> result = seam.fetch<float>(by);
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(result[i], 1.0f + 2.0f * x[i]) << dpus << " " << n << " " << i;
    }
  }
}

TEST(PimDevice, RunsMatrixVectorProductOnRowsAndAReplicatedVector) {
  constexpr std::size_t kRows = 29, kColumns = 7;
  auto recipe = pim([](dpu::Tasklet& tasklet, dpu::Mram<const std::int32_t, 2> matrix,
                       dpu::Mram<const std::int32_t> vector, dpu::Mram<std::int32_t> product) {
    auto row_buffer = tasklet.buffer<std::int32_t>(matrix.extent(1));
    auto vector_buffer = tasklet.buffer<std::int32_t>(vector.size());
    auto result = tasklet.buffer<std::int32_t>(1);
    const std::int32_t* v = vector_buffer.load(vector, 0, vector.size());
    dpu::for_each_row(tasklet, matrix.rows(), [&](std::size_t row) {
      const std::int32_t* m = row_buffer.load(matrix.row_address(row), matrix.extent(1));
      std::int32_t sum = 0;
      for (std::size_t c = 0; c < matrix.extent(1); ++c) sum += m[c] * v[c];
      *result.place(product, row, 1) = sum;
      result.store(product, row, 1);
    });
  });
  recipe.wants<std::int32_t>(1, Layout::BankReplicated);
  const Codelet<void(View<const std::int32_t, 2>, View<const std::int32_t>, Out<std::int32_t>)> gemv{"gemv",
                                                                                                     recipe};
  EXPECT_EQ(pim_variant_of(gemv.core()).wanted_format(1)->layout, Layout::BankReplicated);

  std::vector<std::int32_t> matrix(kRows * kColumns), vector(kColumns);
  std::iota(matrix.begin(), matrix.end(), -50);
  std::iota(vector.begin(), vector.end(), 1);
  PimSeam seam("5");
  const Buffer m = seam.send(matrix, shape_of({kRows, kColumns}), Layout::BankInterleaved);
  const Buffer v = seam.send(vector, shape_of({kColumns}), Layout::BankReplicated);
  const Buffer p = seam.allocate<std::int32_t>(shape_of({kRows}), Layout::BankInterleaved);
  const std::vector<Argument> arguments{data(m, Access::Read), data(v, Access::Read), data(p, Access::Write)};
  seam.finish(seam.device().launch(kLane, pim_variant_of(gemv.core()), arguments));
  const std::vector<std::int32_t> product = seam.fetch<std::int32_t>(p);
  for (std::size_t r = 0; r < kRows; ++r)
    EXPECT_EQ(product[r], std::inner_product(vector.begin(), vector.end(), matrix.begin() + r * kColumns, 0));
}

TEST(PimDevice, ZeroesPartialSumsBeforeEachLaunchAndAddsThemUpWhenFetched) {
  auto recipe =
      pim([](dpu::Tasklet& tasklet, dpu::Mram<const std::uint8_t> values, dpu::Mram<std::uint32_t> counts) {
        auto* bins = tasklet.shared<std::uint32_t>(0, counts.size());
        auto buffer = tasklet.buffer<std::uint8_t>(256);
        dpu::for_each_block(tasklet, values.size(), 256, [&](std::size_t first, std::size_t count) {
          const std::uint8_t* block = buffer.load(values, first, count);
          for (std::size_t i = 0; i < count; ++i) ++bins[block[i] % counts.size()];
        });
        tasklet.barrier();
        if (tasklet.id() == 0) tasklet.copy_out(bins, counts.address(), counts.size());
      });
  recipe.wants<std::uint32_t>(1, Layout::BankPartialSum);
  const Codelet<void(View<const std::uint8_t>, Out<std::uint32_t>)> histogram{"histogram", recipe};

  std::vector<std::uint8_t> values(10007);
  std::vector<std::uint32_t> expected(11);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint8_t>(i * i * 7);
    ++expected[values[i] % 11];
  }
  PimSeam seam("16");
  const Buffer v = seam.send(values, shape_of({values.size()}), Layout::BankInterleaved);
  const Buffer c = seam.allocate<std::uint32_t>(shape_of({11}), Layout::BankPartialSum);
  const std::vector<Argument> arguments{data(v, Access::Read), data(c, Access::Write)};
  for (int launch = 0; launch < 2; ++launch) {
    seam.finish(seam.device().launch(kLane, pim_variant_of(histogram.core()), arguments));
    EXPECT_EQ(seam.fetch<std::uint32_t>(c), expected);
  }
}

TEST(PimDevice, ReportsModelledAndBusyTimeAndWakesTheEngine) {
  PimSeam seam("2");
  const Buffer x = seam.send(std::vector<float>(64, 1.0f), shape_of({64}), Layout::BankInterleaved);
  const Buffer y = seam.send(std::vector<float>(64, 1.0f), shape_of({64}), Layout::BankInterleaved);
  const Saxpy saxpy{"saxpy", pim(saxpy_program)};
  const float a = 1.0f;
  const std::vector<Argument> arguments{scalar(a), data(x, Access::Read), data(y, Access::ReadWrite)};
  const EventHandle event = seam.finish(seam.device().launch(kLane, pim_variant_of(saxpy.core()), arguments));
  // 32 elements in one block of one tasklet: its chain of 32 * (183 + 71) instructions, two reads and a
  // write.
  const double cycles = 11.0 * 32 * 254 + 2 * (77 + 64) + (61 + 64);
  EXPECT_NEAR(event->modelled()->count, 200e-6 + cycles / 350e6, 1e-12);
  EXPECT_GE(event->busy()->count, 0.0);
  const EventHandle marker = seam.finish(seam.device().record(kLane));
  EXPECT_EQ(marker->modelled()->count, 0.0);
  for (int i = 0; i < 1000 && seam.wakes() < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(seam.wakes(), 4);
}

TEST(PimDevice, RunsQueuedLaunchesInOrder) {
  PimSeam seam("4");
  const Buffer y = seam.send(std::vector<std::int32_t>(100, 1), shape_of({100}), Layout::BankInterleaved);
  const auto step = [](std::int32_t factor, std::int32_t term) {
    return Codelet<void(View<std::int32_t>)>{
        "step", pim([factor, term](dpu::Tasklet& tasklet, dpu::Mram<std::int32_t> values) {
          auto buffer = tasklet.buffer<std::int32_t>(64);
          dpu::for_each_block(tasklet, values.size(), 64, [&](std::size_t first, std::size_t count) {
            std::int32_t* block = buffer.load(values, first, count);
            for (std::size_t i = 0; i < count; ++i) block[i] = block[i] * factor + term;
            buffer.store(values, first, count);
          });
        })};
  };
  const auto doubled = step(2, 0);
  const auto incremented = step(1, 1);
  const std::vector<Argument> arguments{data(y, Access::ReadWrite)};
  EventHandle last;
  for (int i = 0; i < 10; ++i) {
    seam.device().launch(kLane, pim_variant_of(doubled.core()), arguments);
    last = seam.device().launch(kLane, pim_variant_of(incremented.core()), arguments);
  }
  seam.device().wait(kLane, last);
  EXPECT_EQ(seam.fetch<std::int32_t>(y), std::vector<std::int32_t>(100, 2047));
  EXPECT_TRUE(last->done());
}

TEST(PimDevice, FailsTheLaunchWhoseProgramThrowsAndStaysUsable) {
  PimSeam seam("3");
  const Buffer y = seam.send(std::vector<float>(30, 4.0f), shape_of({30}), Layout::BankInterleaved);
  const Codelet<void(View<float>)> broken{"broken", pim([](dpu::Tasklet& tasklet, dpu::Mram<float> values) {
                                            auto* wram = tasklet.wram<float>(2);
                                            if (tasklet.dpu() == 2 && tasklet.id() == 1)
                                              tasklet.read(values.address() + 4, wram, 2);
                                            tasklet.barrier();
                                          })};
  const std::vector<Argument> arguments{data(y, Access::ReadWrite)};
  const EventHandle event = seam.device().launch(kLane, pim_variant_of(broken.core()), arguments);
  EXPECT_THROW(seam.finish(event), dpu::DmaError);
  EXPECT_EQ(seam.fetch<float>(y), std::vector<float>(30, 4.0f));
}

TEST(PimDevice, CopiesPartsOfHostArraysToPartsOfBanks) {
  PimSeam seam("4");
  const Shape shape = shape_of({9, 6});
  const Buffer banked = seam.send(std::vector<double>(54, 0.0), shape, Layout::BankInterleaved);
  std::vector<double> host(200);
  std::iota(host.begin(), host.end(), 0.0);
  const Shape host_shape = shape_of({10, 20});
  const Box from{{2, 5, 0, 0}, shape_of({5, 3})};
  const Box to{{3, 1, 0, 0}, shape_of({5, 3})};
  seam.finish(seam.device().copy(
      kLane, {CopyDirection::HostToDevice, {PimSeam::host(host, host_shape), from}, {banked, to}}));
  const std::vector<double> result = seam.fetch<double>(banked);
  for (std::size_t r = 0; r < 9; ++r) {
    for (std::size_t c = 0; c < 6; ++c) {
      const bool inside = r >= 3 && r < 8 && c >= 1 && c < 4;
      EXPECT_EQ(result[r * 6 + c], inside ? static_cast<double>((r - 1) * 20 + c + 4) : 0.0) << r << " " << c;
    }
  }
}

TEST(PimDevice, SaysWhichFormatsItHoldsAndCopies) {
  PimSeam seam("4");
  Device& device = seam.device();
  const ElementType f32 = element_type<float>();
  const Format row_major{f32, Layout::RowMajor};
  EXPECT_EQ(device.preferred_format(f32, Access::Read), (Format{f32, Layout::BankInterleaved}));
  EXPECT_FALSE(device.can_hold(row_major));
  for (const Layout layout :
       {Layout::BankInterleaved, Layout::BankReplicated, Layout::BankPartialSum, Layout::BankSingle}) {
    const Format format{f32, layout};
    EXPECT_TRUE(device.can_hold(format));
    EXPECT_EQ(device.can_copy(CopyDirection::HostToDevice, row_major, format),
              layout != Layout::BankPartialSum);
    EXPECT_TRUE(device.can_copy(CopyDirection::DeviceToHost, format, row_major));
    EXPECT_FALSE(device.can_copy(CopyDirection::WithinDevice, format, format));
  }
  EXPECT_FALSE(device.can_copy(CopyDirection::HostToDevice, row_major,
                               {element_type<double>(), Layout::BankInterleaved}));
  EXPECT_EQ(device.footprint(shape_of({10}), {f32, Layout::BankInterleaved}).count, 4u * 16u);
  EXPECT_EQ(device.footprint(shape_of({10}), {f32, Layout::BankReplicated}).count, 4u * 40u);
  EXPECT_THROW(device.allocate(shape_of({10}), row_major), InvalidArgument);
}

TEST(PimDevice, SaysTheSizesWhenAnArrayDoesNotFitABank) {
  PimSeam seam("4");
  EXPECT_THROW(seam.allocate<double>(shape_of({std::size_t{1} << 24}), Layout::BankReplicated), OutOfMemory);
  EXPECT_NO_THROW(seam.allocate<double>(shape_of({std::size_t{1} << 24}), Layout::BankInterleaved));
}

TEST(PimDevice, FinishesWhatIsQueuedBeforeItGoes) {
  std::vector<float> values(50, 3.0f), back(50);
  EventHandle event;
  {
    PimSeam seam("2");
    const Buffer banked = seam.send(values, shape_of({50}), Layout::BankSingle);
    event = seam.device().copy(kLane, {CopyDirection::DeviceToHost,
                                       {banked, {{}, banked.shape}},
                                       {PimSeam::host(back, banked.shape), {{}, banked.shape}}});
    seam.finish(event);
    event = seam.device().record(kLane);
  }
  EXPECT_TRUE(event->done());
  EXPECT_EQ(back, values);
}

/// The message with which building the codelet fails.
template <class Build>
std::string refusal(Build&& build) {
  try {
    build();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  ADD_FAILURE() << "should have been refused";
  return {};
}

TEST(PimVariant, RefusesElementTypesThatItWillNotBeGiven) {
  const auto program = [](dpu::Tasklet&, dpu::Mram<const double>) {};
  const std::string message = refusal([&] { Codelet<void(View<const float>)>("c", pim(program)); });
  EXPECT_NE(message.find("parameter 0"), std::string::npos) << message;
  EXPECT_NO_THROW(
      Codelet<void(View<const float>)>("c", pim(program).wants<double>(0, Layout::BankInterleaved)));
}

TEST(PimVariant, RefusesLayoutsThatDoNotSuitTheAccess) {
  const auto reader = [](dpu::Tasklet&, dpu::Mram<const float>) {};
  const auto writer = [](dpu::Tasklet&, dpu::Mram<float>) {};
  using Reads = Codelet<void(View<const float>)>;
  using Updates = Codelet<void(View<float>)>;
  using Writes = Codelet<void(Out<float>)>;
  EXPECT_NE(refusal([&] { Reads("c", pim(reader).wants<float>(0)); }).find("banks cannot have"),
            std::string::npos);
  EXPECT_NE(refusal([&] { Reads("c", pim(reader).wants<float>(0, Layout::BankPartialSum)); }).find("Out<T>"),
            std::string::npos);
  refusal([&] { Updates("c", pim(writer).wants<float>(0, Layout::BankPartialSum)); });
  refusal([&] { Updates("c", pim(writer).wants<float>(0, Layout::BankReplicated)); });
  EXPECT_NO_THROW(Reads("c", pim(reader).wants<float>(0, Layout::BankReplicated)));
  EXPECT_NO_THROW(Writes("c", pim(writer).wants<float>(0, Layout::BankPartialSum)));
  EXPECT_NO_THROW(Updates("c", pim(writer).wants<float>(0, Layout::BankSingle)));
}

TEST(PimVariant, RefusesAFormatForAScalar) {
  const auto program = [](dpu::Tasklet&, float, dpu::Mram<const float>) {};
  EXPECT_NE(refusal([&] {
              Codelet<void(float, View<const float>)>("c",
                                                      pim(program).wants<float>(0, Layout::BankReplicated));
            }).find("scalar"),
            std::string::npos);
}

TEST(PimVariant, PassesScalarsAndDataInTheOrderOfTheSignature) {
  PimSeam seam("3");
  const Buffer cube =
      seam.send(std::vector<std::int16_t>(7 * 2 * 5, 3), shape_of({7, 2, 5}), Layout::BankInterleaved);
  std::atomic<std::size_t> rows{0};
  const Codelet<void(double, View<const std::int16_t, 3>, std::uint8_t)> codelet{
      "c", pim([&](dpu::Tasklet& tasklet, double x, dpu::Mram<const std::int16_t, 3> part, std::uint8_t y) {
        EXPECT_EQ(x, 0.25);
        EXPECT_EQ(y, 200);
        EXPECT_EQ(part.row_elements(), 10u);
        EXPECT_EQ(part.total_rows(), 7u);
        EXPECT_EQ(part.size(), part.rows() * 10);
        if (tasklet.id() == 0) rows += part.rows();
      })};
  const double x = 0.25;
  const std::uint8_t y = 200;
  const std::vector<Argument> arguments{scalar(x), data(cube, Access::Read), scalar(y)};
  seam.finish(seam.device().launch(kLane, pim_variant_of(codelet.core()), arguments));
  EXPECT_EQ(rows, 7u);
}

}  // namespace
}  // namespace hocket
