// SPDX-License-Identifier: Apache-2.0
// How arrays lie in the banks, and copies of boxes to and from them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "pim/bank_layout.hpp"

namespace hocket::dpu {
namespace {

constexpr Layout kReadableLayouts[] = {Layout::BankInterleaved, Layout::BankReplicated, Layout::BankSingle};

Shape shape_of(std::initializer_list<std::size_t> extents) {
  Shape shape;
  shape.rank = static_cast<std::uint8_t>(extents.size());
  std::size_t d = 0;
  for (const std::size_t extent : extents) shape.extent[d++] = extent;
  return shape;
}

Box whole(const Shape& shape) { return {{}, shape}; }

/// The bytes of one bank's part.
std::vector<std::byte> bank_bytes(const DpuSet& set, unsigned dpu, MramAddress address, std::size_t bytes) {
  return {set.bank(dpu) + address, set.bank(dpu) + address + bytes};
}

TEST(PimLayout, InterleavesRowsInBlocksOfTheCeilingAndLetsTheLastBanksRunShort) {
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 10, 0, 4).count, 3u);
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 10, 3, 4).first, 9u);
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 10, 3, 4).count, 1u);
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 9, 4, 8).count, 1u);  // blocks of 2: 5 banks of 8 are used
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 9, 5, 8).count, 0u);
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 3, 7, 8).count, 0u);  // more DPUs than rows
  EXPECT_EQ(rows_of_bank(Layout::BankInterleaved, 5, 0, 1).count, 5u);
}

TEST(PimLayout, EveryRowIsInExactlyOneBankWhenInterleaved) {
  for (std::size_t rows = 0; rows <= 70; ++rows) {
    for (unsigned dpus = 1; dpus <= 66; ++dpus) {
      std::size_t next = 0;
      for (unsigned dpu = 0; dpu < dpus; ++dpu) {
        const RowRange range = rows_of_bank(Layout::BankInterleaved, rows, dpu, dpus);
        ASSERT_EQ(range.first, next);
        next += range.count;
      }
      ASSERT_EQ(next, rows);
    }
  }
}

TEST(PimLayout, OfTheOthersIsAllRowsInEveryBankOrInTheFirst) {
  for (unsigned dpu = 0; dpu < 4; ++dpu) {
    EXPECT_EQ(rows_of_bank(Layout::BankReplicated, 10, dpu, 4).count, 10u);
    EXPECT_EQ(rows_of_bank(Layout::BankPartialSum, 10, dpu, 4).count, 10u);
    EXPECT_EQ(rows_of_bank(Layout::BankSingle, 10, dpu, 4).count, dpu == 0 ? 10u : 0u);
  }
}

TEST(PimLayout, PadsEachBanksPartToEightBytes) {
  const ElementType f32 = element_type<float>();
  EXPECT_EQ(bytes_per_bank(shape_of({10}), {f32, Layout::BankInterleaved}, 4), 16u);     // 3 elements
  EXPECT_EQ(bytes_per_bank(shape_of({10, 3}), {f32, Layout::BankInterleaved}, 4), 40u);  // 3 rows of 12 bytes
  EXPECT_EQ(bytes_per_bank(shape_of({3, 3}), {f32, Layout::BankReplicated}, 4), 40u);
  EXPECT_EQ(bytes_per_bank(shape_of({1}), {element_type<std::uint8_t>(), Layout::BankSingle}, 4), 8u);
}

TEST(PimLayout, PutsRowsWhereProgramsLookForThem) {
  DpuSet set({.dpus = 4, .tasklets = 3});
  const Shape shape = shape_of({10, 3});
  const BankedArray array{64, shape, {element_type<std::int32_t>(), Layout::BankInterleaved}};
  std::vector<std::int32_t> host(30);
  std::iota(host.begin(), host.end(), 0);
  copy_to_banks(set, array, whole(shape), {reinterpret_cast<std::byte*>(host.data()), dense_strides(shape)});
  std::vector<int> seen(10);
  set.launch([&](Tasklet& tasklet) {
    const RowRange rows = rows_of_bank(Layout::BankInterleaved, 10, tasklet.dpu(), tasklet.dpus());
    const Mram<const std::int32_t, 2> part(array.address, {rows.count, 3}, rows.first, 10);
    auto buffer = tasklet.buffer<std::int32_t>(3);
    for_each_row(tasklet, part.rows(), [&](std::size_t row) {
      const std::int32_t* elements = buffer.load(part, row * 3, 3);
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(elements[c], static_cast<std::int32_t>((part.first() + row) * 3) + c);
      ++seen.at(part.first() + row);
    });
  });
  EXPECT_EQ(seen, std::vector<int>(10, 1));
}

/// A random array, a random box of it, and a random enclosing host array.
struct RandomCopy {
  Shape shape;
  Box box;
  std::array<std::size_t, kMaxRank> margin{};  // host array = box + margin along each dimension

  explicit RandomCopy(std::mt19937& random, bool all) {
    const auto rank = 1 + random() % kMaxRank;
    shape.rank = box.shape.rank = static_cast<std::uint8_t>(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      shape.extent[d] = 1 + random() % (d == 0 ? 40 : 9);
      box.offset[d] = all ? 0 : random() % shape.extent[d];
      box.shape.extent[d] = all ? shape.extent[d] : 1 + random() % (shape.extent[d] - box.offset[d]);
      margin[d] = random() % 3 == 0 ? random() % 4 : 0;
    }
  }
  Shape host_shape() const {
    Shape host = box.shape;
    for (std::size_t d = 0; d < kMaxRank; ++d) host.extent[d] += margin[d];
    return host;
  }
};

/// Calls `visit(position in array, position in the host array)` for each element of the box.
template <class Visit>
void for_each_element(const RandomCopy& copy, Visit&& visit) {
  const Strides array = dense_strides(copy.shape);
  const Strides host = dense_strides(copy.host_shape());
  const auto& e = copy.box.shape.extent;
  const auto& o = copy.box.offset;
  for (std::size_t a = 0; a < e[0]; ++a)
    for (std::size_t b = 0; b < e[1]; ++b)
      for (std::size_t c = 0; c < e[2]; ++c)
        for (std::size_t d = 0; d < e[3]; ++d)
          visit((a + o[0]) * array[0] + (b + o[1]) * array[1] + (c + o[2]) * array[2] + (d + o[3]) * array[3],
                a * host[0] + b * host[1] + c * host[2] + d * host[3]);
}

template <class T>
void round_trips(unsigned seed) {
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    DpuSet set({.dpus = static_cast<unsigned>(1 + random() % 13), .tasklets = 1});
    for (const Layout layout : kReadableLayouts) {
      // The whole array goes in, a box is overwritten, the whole comes back, then a box of that.
      RandomCopy all(random, true);
      const BankedArray array{
          static_cast<MramAddress>(8 * (random() % 100)), all.shape, {element_type<T>(), layout}};
      RandomCopy part(random, false);
      part.shape = all.shape;
      for (std::size_t d = 0; d < kMaxRank; ++d) {
        part.box.offset[d] = random() % all.shape.extent[d];
        part.box.shape.extent[d] = 1 + random() % (all.shape.extent[d] - part.box.offset[d]);
      }
      part.box.shape.rank = all.shape.rank;
      std::vector<T> expected(all.shape.elements());
      const auto send = [&](const RandomCopy& copy) {
        std::vector<T> host(copy.host_shape().elements());
        for (T& value : host) value = static_cast<T>(random() % 200);
        copy_to_banks(set, array, copy.box,
                      {reinterpret_cast<std::byte*>(host.data()), dense_strides(copy.host_shape())});
        for_each_element(copy, [&](std::size_t at, std::size_t from) { expected[at] = host[from]; });
      };
      const auto check = [&](const RandomCopy& copy) {
        const T untouched = static_cast<T>(99);
        std::vector<T> host(copy.host_shape().elements(), untouched);
        std::vector<T> wanted = host;
        copy_from_banks(set, array, copy.box,
                        {reinterpret_cast<std::byte*>(host.data()), dense_strides(copy.host_shape())});
        for_each_element(copy, [&](std::size_t at, std::size_t to) { wanted[to] = expected[at]; });
        ASSERT_EQ(host, wanted) << to_string(layout) << " box " << to_string(copy.box) << " of "
                                << to_string(copy.shape) << " on " << set.dpus() << " DPUs";
      };
      send(all);
      check(all);
      send(part);
      check(all);
      check(part);
    }
  }
}

TEST(PimLayout, BringsBackRandomBoxesOfBytes) { round_trips<std::uint8_t>(1); }
TEST(PimLayout, BringsBackRandomBoxesOfHalfWords) { round_trips<std::int16_t>(2); }
TEST(PimLayout, BringsBackRandomBoxesOfFloats) { round_trips<float>(3); }
TEST(PimLayout, BringsBackRandomBoxesOfDoubles) { round_trips<double>(4); }

TEST(PimLayout, ReplicatesIntoEveryBank) {
  DpuSet set({.dpus = 5, .tasklets = 1});
  const Shape shape = shape_of({7});
  std::vector<std::uint8_t> host{1, 2, 3, 4, 5, 6, 7};
  copy_to_banks(set, {8, shape, {element_type<std::uint8_t>(), Layout::BankReplicated}}, whole(shape),
                {reinterpret_cast<std::byte*>(host.data()), dense_strides(shape)});
  for (unsigned dpu = 1; dpu < 5; ++dpu) EXPECT_EQ(bank_bytes(set, dpu, 8, 8), bank_bytes(set, 0, 8, 8));
  EXPECT_EQ(bank_bytes(set, 4, 8, 1)[0], std::byte{1});
}

TEST(PimLayout, TouchesOnlyTheFirstBankWhenSingle) {
  DpuSet set({.dpus = 3, .tasklets = 1});
  const Shape shape = shape_of({2});
  std::vector<double> host{1.5, 2.5};
  copy_to_banks(set, {0, shape, {element_type<double>(), Layout::BankSingle}}, whole(shape),
                {reinterpret_cast<std::byte*>(host.data()), dense_strides(shape)});
  EXPECT_EQ(bank_bytes(set, 1, 0, 16), std::vector<std::byte>(16));
  EXPECT_NE(bank_bytes(set, 0, 0, 16), std::vector<std::byte>(16));
}

/// Writes `value(dpu, i)` into the partial result of each DPU and returns the sum that the host sees of a
/// box.
template <class T, class Value>
std::vector<T> partial_sum(unsigned dpus, const Shape& shape, const Box& box, Value&& value) {
  DpuSet set({.dpus = dpus, .tasklets = 1});
  const BankedArray array{16, shape, {element_type<T>(), Layout::BankPartialSum}};
  for (unsigned dpu = 0; dpu < dpus; ++dpu) {
    for (std::size_t i = 0; i < shape.elements(); ++i) {
      const T element = value(dpu, i);
      std::memcpy(set.bank(dpu) + 16 + i * sizeof(T), &element, sizeof(T));
    }
  }
  std::vector<T> host(box.shape.elements());
  copy_from_banks(set, array, box, {reinterpret_cast<std::byte*>(host.data()), dense_strides(box.shape)});
  return host;
}

TEST(PimPartialSum, AddsIntegersOfAllBanksExactly) {
  const Shape shape = shape_of({5, 3});
  const Box box{{1, 1, 0, 0}, shape_of({3, 2})};
  const auto sums = partial_sum<std::int32_t>(
      7, shape, box, [](unsigned dpu, std::size_t i) { return static_cast<std::int32_t>(dpu * 1000 + i); });
  const std::vector<std::int32_t> expected{21000 + 7 * 4, 21000 + 7 * 5,  21000 + 7 * 7,
                                           21000 + 7 * 8, 21000 + 7 * 10, 21000 + 7 * 11};
  EXPECT_EQ(sums, expected);
}

TEST(PimPartialSum, OfIntegersWrapsAroundAsOnTheDevice) {
  const Shape shape = shape_of({1});
  const auto sums = partial_sum<std::int8_t>(3, shape, whole(shape),
                                             [](unsigned, std::size_t) { return std::int8_t{100}; });
  EXPECT_EQ(sums[0], static_cast<std::int8_t>(300 - 256));
  const auto wide = partial_sum<std::int64_t>(
      2, shape, whole(shape), [](unsigned, std::size_t) { return std::numeric_limits<std::int64_t>::max(); });
  EXPECT_EQ(wide[0], -2);
}

TEST(PimPartialSum, AddsFloatsInTheOrderOfTheDpus) {
  const Shape shape = shape_of({1});
  const float parts[] = {1e8f, 1.0f, -1e8f, 1.0f};
  const auto sums =
      partial_sum<float>(4, shape, whole(shape), [&](unsigned dpu, std::size_t) { return parts[dpu]; });
  EXPECT_EQ(sums[0], ((1e8f + 1.0f) + -1e8f) + 1.0f);
}

TEST(PimPartialSum, AddsBrainFloatsWithOneRounding) {
  const Shape shape = shape_of({1});
  const auto sums = partial_sum<bf16>(
      64, shape, whole(shape), [](unsigned dpu, std::size_t) { return bf16(dpu == 0 ? 256.0f : 1.0f); });
  EXPECT_EQ(static_cast<float>(sums[0]), static_cast<float>(bf16(256.0f + 63.0f)));
}

TEST(PimPartialSum, IsZeroedInEveryBankAndNothingBesideIt) {
  DpuSet set({.dpus = 3, .tasklets = 1});
  for (unsigned dpu = 0; dpu < 3; ++dpu) std::memset(set.bank(dpu), 0xff, 64);
  zero_banks(set, {8, shape_of({5}), {element_type<float>(), Layout::BankPartialSum}});
  for (unsigned dpu = 0; dpu < 3; ++dpu) {
    EXPECT_EQ(bank_bytes(set, dpu, 8, 24), std::vector<std::byte>(24));
    EXPECT_EQ(bank_bytes(set, dpu, 0, 8), std::vector<std::byte>(8, std::byte{0xff}));
    EXPECT_EQ(bank_bytes(set, dpu, 32, 8), std::vector<std::byte>(8, std::byte{0xff}));
  }
}

TEST(PimLayout, RefusesCopiesThatMakeNoSense) {
  DpuSet set({.dpus = 2, .tasklets = 1});
  const Shape shape = shape_of({4});
  std::vector<float> values(8);
  const HostBox host{reinterpret_cast<std::byte*>(values.data()), dense_strides(shape)};
  const ElementType f32 = element_type<float>();
  EXPECT_THROW(copy_to_banks(set, {0, shape, {f32, Layout::BankPartialSum}}, whole(shape), host),
               InvalidArgument);
  EXPECT_THROW(copy_to_banks(set, {0, shape, {f32, Layout::RowMajor}}, whole(shape), host), InvalidArgument);
  EXPECT_THROW(copy_from_banks(set, {0, shape, {f32, Layout::BankSingle}}, {{1, 0, 0, 0}, shape}, host),
               InvalidArgument);
  struct Pixel {
    std::uint8_t red, green, blue;
  };
  EXPECT_FALSE(is_bank_format({element_type<Pixel>(), Layout::BankPartialSum}));
  EXPECT_TRUE(is_bank_format({element_type<Pixel>(), Layout::BankInterleaved}));
}

TEST(PimLayout, ModelsTheLargestPartThatAnyBankMoves) {
  DpuSet set({.dpus = 64, .tasklets = 1});
  const Shape shape = shape_of({100, 5});  // blocks of 2 rows: 40 bytes in each bank
  std::vector<float> values(500);
  const HostBox host{reinterpret_cast<std::byte*>(values.data()), dense_strides(shape)};
  const ElementType f32 = element_type<float>();
  const auto near = [](Seconds actual, Seconds expected) {
    EXPECT_NEAR(actual.count, expected.count, 1e-12);
  };
  near(copy_to_banks(set, {0, shape, {f32, Layout::BankInterleaved}}, whole(shape), host),
       transfer_seconds(TransferKind::ToDpus, 64, 40));
  near(copy_from_banks(set, {0, shape, {f32, Layout::BankInterleaved}}, whole(shape), host),
       transfer_seconds(TransferKind::FromDpus, 64, 40));
  near(copy_to_banks(set, {0, shape, {f32, Layout::BankReplicated}}, whole(shape), host),
       transfer_seconds(TransferKind::Broadcast, 64, 2000));
  near(copy_from_banks(set, {0, shape, {f32, Layout::BankReplicated}}, whole(shape), host),
       transfer_seconds(TransferKind::FromDpus, 1, 2000));
  near(copy_from_banks(set, {0, shape, {f32, Layout::BankPartialSum}}, whole(shape), host),
       transfer_seconds(TransferKind::FromDpus, 64, 2000));
}

}  // namespace
}  // namespace hocket::dpu
