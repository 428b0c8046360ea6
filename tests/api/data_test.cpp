// SPDX-License-Identifier: Apache-2.0
// Data: ways to make it, its parts, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::holds;
using testing::message_of;
using testing::options_for;

class DataHandles : public testing::WatchedTest {
 protected:
  Runtime runtime_{options_for("cpu:2")};
};

// ---- making it
// ----------------------------------------------------------------------------------------------------

TEST_F(DataHandles, BorrowASpanAndGiveItsContentsBack) {
  std::vector<int> memory(100, 1);
  {
    auto data = runtime_.data(std::span(memory));
    EXPECT_EQ(data.size(), 100u);
    runtime_.submit(testing::add(), 1, data);
  }  // waits for the task
  EXPECT_EQ(memory, std::vector<int>(100, 2));
}

TEST_F(DataHandles, BorrowSpansOfFixedSizeAndContainers) {
  std::array<int, 4> array{1, 1, 1, 1};
  const std::vector<double> constant(3, 2.0);
  std::vector<int> vector(5, 1);
  {
    const Data<int> spanned = runtime_.data(std::span{array}, {.name = "spanned"});
    EXPECT_EQ(spanned.name(), "spanned");
    EXPECT_EQ(spanned.size(), 4u);
    const Data<int> contained = runtime_.data(vector);
    const Data<const double> read_only = runtime_.data(constant);
    EXPECT_EQ(runtime_.read(read_only)[2], 2.0);
    runtime_.submit(testing::add(), 1, spanned);
    runtime_.submit(testing::add(), 2, contained);
  }
  EXPECT_EQ(array, (std::array<int, 4>{2, 2, 2, 2}));
  EXPECT_EQ(vector, std::vector<int>(5, 3));
}

TEST_F(DataHandles, BorrowAPointerWithExtents) {
  std::vector<int> memory(12);
  std::iota(memory.begin(), memory.end(), 0);
  auto data = runtime_.data(memory.data(), {3, 4});
  EXPECT_EQ(data.extent(0), 3u);
  EXPECT_EQ(data.extent(1), 4u);
  const auto view = runtime_.read(data);
  EXPECT_EQ(view(2, 1), 9);
}

TEST_F(DataHandles, BorrowAStridedArrayAndLeaveTheGapsAlone) {
  std::vector<int> memory(4 * 10, -1);
  {
    auto data = runtime_.data(memory.data(), {4, 6}, {10, 1});
    runtime_.submit(cpu([](Out<int, 2> x) {
                      for (std::size_t i = 0; i < x.extent(0); ++i)
                        for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) = static_cast<int>(10 * i + j);
                    }),
                    data);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 10; ++j)
      EXPECT_EQ(memory[static_cast<std::size_t>(10 * i + j)], j < 6 ? 10 * i + j : -1);
}

TEST_F(DataHandles, BorrowConstantMemoryForReading) {
  const std::vector<int> memory(5, 3);
  auto data = runtime_.data(std::span(memory));
  static_assert(std::is_same_v<decltype(data), Data<const int>>);
  auto result = runtime_.data<int>({5});
  runtime_.submit(testing::copy(), data, result);
  EXPECT_EQ(runtime_.read(result)[4], 3);
  EXPECT_EQ(runtime_.read(data)[0], 3);
}

TEST_F(DataHandles, HaveOneToFourDimensions) {
  auto one = runtime_.data<int>({24});
  auto two = runtime_.data<int>({4, 6});
  auto three = runtime_.data<int>({2, 3, 4});
  auto four = runtime_.data<int>({2, 3, 2, 2});
  runtime_.submit(cpu([](Out<int> x) {
                    for (std::size_t i = 0; i < 24; ++i) x[i] = static_cast<int>(i);
                  }),
                  one);
  runtime_.submit(cpu([](View<const int> from, Out<int, 2> a, Out<int, 3> b, Out<int, 4> c) {
                    for (std::size_t i = 0; i < 24; ++i) {
                      a(i / 6, i % 6) = from[i];
                      b(i / 12, i / 4 % 3, i % 4) = from[i];
                      c(i / 12, i / 4 % 3, i / 2 % 2, i % 2) = from[i];
                    }
                  }),
                  one, two, three, four);
  EXPECT_EQ(runtime_.read(two)(3, 5), 23);
  EXPECT_EQ(runtime_.read(three)(1, 2, 0), 20);
  EXPECT_EQ(runtime_.read(four)(1, 0, 1, 0), 14);
}

TEST_F(DataHandles, HoldStructuresAsOpaqueBytes) {
  struct Particle {
    double position[3];
    int charge;
  };
  auto particles = runtime_.data<Particle>({10});
  runtime_.submit(cpu([](Out<Particle> p) {
                    for (Particle& particle : p) particle = {{1.0, 2.0, 3.0}, 7};
                  }),
                  particles);
  EXPECT_EQ(runtime_.read(particles)[9].charge, 7);
}

TEST_F(DataHandles, BearTheNameThatTheyWereGiven) {
  auto named = runtime_.data<int>({8, 8}, {.name = "A"});
  auto unnamed = runtime_.data<int>({8});
  EXPECT_EQ(named.name(), "A");
  EXPECT_TRUE(holds(named.tiles(4, 4)(1, 0).name(), {"A[", "4:8", "0:4"}));
  EXPECT_TRUE(holds(unnamed.name(), {"data "}));
  EXPECT_EQ((Data<int>().name()), "(empty handle)");
}

TEST_F(DataHandles, RefuseASizeOfZero) {
  std::vector<int> empty;
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.data(std::span(empty), {.name = "E"}); }),
                    {"'E'", "no elements"}));
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] {
                      runtime_.data<int>({4, 0}, {.name = "Z"});
                    }),
                    {"'Z'", "4 x 0"}));
}

TEST_F(DataHandles, RefuseANullPointer) {
  int* const null = nullptr;
  EXPECT_TRUE(
      holds(message_of<InvalidArgument>([&] { runtime_.data(null, {4}, {.name = "N"}); }), {"'N'", "null"}));
}

TEST_F(DataHandles, RefuseStridesThatOverlapOrDoNotEndInOne) {
  std::vector<int> memory(100);
  EXPECT_THROW(runtime_.data(memory.data(), {4, 6}, {5, 1}), InvalidArgument);
  EXPECT_THROW(runtime_.data(memory.data(), {4, 6}, {12, 2}), InvalidArgument);
  EXPECT_THROW(runtime_.data(memory.data(), {4, 6}, {0, 1}), InvalidArgument);
  EXPECT_NO_THROW(runtime_.data(memory.data(), {4, 6}, {6, 1}));
}

TEST_F(DataHandles, RefuseASizeBeyondTheAddressSpace) {
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 2;
  EXPECT_THROW(runtime_.data<int>({huge, 16}), InvalidArgument);
  EXPECT_THROW(runtime_.data<int>({huge}), InvalidArgument);
}

TEST_F(DataHandles, RefuseASizeThatTheHostHasNot) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' allocator ends the program instead of refusing";
#else
  const std::size_t elements = std::size_t{1} << 45;  // 128 TiB
  EXPECT_TRUE(holds(message_of<OutOfMemory>([&] { runtime_.data<int>({elements}, {.name = "vast"}); }),
                    {"'vast'", "bytes", "smaller"}));
#endif
}

TEST_F(DataHandles, ThatAreEmptyAreRefusedEverywhere) {
  Data<int> empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(runtime_.submit({.name = "t"}, testing::add(), 1, empty), InvalidArgument);
  EXPECT_THROW(runtime_.read(empty), InvalidArgument);
  EXPECT_THROW(runtime_.write(empty), InvalidArgument);
  EXPECT_THROW(empty.size(), InvalidArgument);
  EXPECT_THROW(empty.tiles(1), InvalidArgument);
  EXPECT_THROW(empty.block({0}, {1}), InvalidArgument);
}

TEST_F(DataHandles, RefuseToBeReadBeforeAnythingHasWrittenThem) {
  auto data = runtime_.data<int>({4}, {.name = "raw"});
  EXPECT_TRUE(
      holds(message_of<UninitialisedRead>([&] { runtime_.read(data); }), {"'raw'", "nothing has written"}));
  EXPECT_TRUE(holds(
      message_of<UninitialisedRead>([&] { runtime_.submit({.name = "hasty"}, testing::add(), 1, data); }),
      {"hasty", "'raw'", "Out<T>"}));
  // The refused submission has had no effect.
  runtime_.submit(testing::set_to(), 1, data);
  EXPECT_EQ(runtime_.read(data)[0], 1);
}

TEST_F(DataHandles, RefuseToBeReadWhereOnlySomePartsAreWritten) {
  auto data = runtime_.data<int>({10}, {.name = "half"});
  runtime_.submit(testing::set_to(), 1, data.block({0}, {5}));
  EXPECT_EQ(runtime_.read(data.block({2}, {3}))[0], 1);
  EXPECT_TRUE(holds(message_of<UninitialisedRead>([&] { runtime_.read(data); }), {"half", "5:10"}));
  runtime_.submit(testing::set_to(), 2, data.block({5}, {5}));
  EXPECT_EQ(runtime_.read(data)[9], 2);
}

TEST_F(DataHandles, MayBeWrittenByTheProgramFirst) {
  auto data = runtime_.data<int>({4});
  {
    auto view = runtime_.write(data);
    for (int& element : view) element = 6;
  }
  runtime_.submit(testing::add(), 1, data);
  EXPECT_EQ(runtime_.read(data)[3], 7);
}

TEST_F(DataHandles, LiveUntilTheLastTaskThatUsesThemIsOver) {
  std::vector<int> sums(20, 0);
  auto result = runtime_.data(std::span(sums));
  for (std::size_t i = 0; i < 20; ++i) {
    auto temporary = runtime_.data<int>({1000});
    runtime_.submit(testing::set_to(), static_cast<int>(i), temporary);
    runtime_.submit(cpu([](View<const int> from, Out<int> to) { to[0] = from[999]; }), temporary,
                    result.block({i}, {1}));
  }
  const auto view = runtime_.read(result);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(view[i], static_cast<int>(i));
}

TEST_F(DataHandles, OfTemporariesCanBeMadeAndDroppedAThousandTimes) {
  auto total = runtime_.data<int>({1});
  runtime_.submit(testing::set_to(), 0, total);
  for (int i = 0; i < 1000; ++i) {
    auto temporary = runtime_.data<int>({16});
    runtime_.submit(testing::set_to(), 1, temporary);
    runtime_.submit(cpu([](View<const int> x, View<int> sum) { sum[0] += x[5]; }), temporary, total);
  }
  EXPECT_EQ(runtime_.read(total)[0], 1000);
}

TEST_F(DataHandles, GiveTheContentsBackOnceWhenTwoThreadsDropTheLastHandles) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int> memory(4, 0);
    auto first = runtime_.data(std::span(memory));
    auto second = first;
    runtime_.submit(testing::add(), 1, first);
    std::thread other([handle = std::move(second)]() mutable { handle = {}; });
    first = {};
    other.join();
    EXPECT_EQ(memory[0], 1);
  }
}

TEST_F(DataHandles, MayOutliveTheirRuntime) {
  std::vector<int> memory(4, 1);
  Data<int> borrowed;
  Data<int> owned;
  Tiles<int, 1> tiles = [&] {
    Runtime short_lived(options_for("cpu:1"));
    borrowed = short_lived.data(std::span(memory));
    owned = short_lived.data<int>({4});
    short_lived.submit(testing::add(), 4, borrowed);
    short_lived.submit(testing::set_to(), 1, owned);
    return borrowed.tiles(2);
  }();
  EXPECT_EQ(memory[3], 5);
  EXPECT_EQ(owned.size(), 4u);
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.read(owned); }), {"another runtime"}));
  EXPECT_THROW(runtime_.submit(testing::add(), 1, tiles(1)), InvalidArgument);
}

TEST_F(DataHandles, OfAnotherRuntimeAreRefusedByName) {
  Runtime other(options_for("cpu:1"));
  auto foreign = other.data<int>({4}, {.name = "foreign"});
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { runtime_.submit(testing::set_to(), 1, foreign); }),
                    {"foreign", "another runtime", "argument 1"}));
  EXPECT_THROW(runtime_.read(foreign), InvalidArgument);
}

// ---- parts
// --------------------------------------------------------------------------------------------------------

TEST_F(DataHandles, AreCutIntoTilesOfWhichTheLastMayBeSmaller) {
  auto data = runtime_.data<int>({7, 10});
  const auto tiles = data.tiles(3, 4);
  EXPECT_EQ(tiles.count(0), 3u);
  EXPECT_EQ(tiles.count(1), 3u);
  EXPECT_EQ(tiles.size(), 9u);
  EXPECT_EQ(tiles(2, 2).extent(0), 1u);
  EXPECT_EQ(tiles(2, 2).extent(1), 2u);
  for (const auto& tile : tiles)
    runtime_.submit(cpu([](Out<int, 2> x) {
                      for (std::size_t i = 0; i < x.extent(0); ++i)
                        for (std::size_t j = 0; j < x.extent(1); ++j)
                          x(i, j) = static_cast<int>(x.extent(0) * x.extent(1));
                    }),
                    tile);
  const auto view = runtime_.read(data);
  EXPECT_EQ(view(0, 0), 12);
  EXPECT_EQ(view(6, 0), 4);
  EXPECT_EQ(view(6, 9), 2);
  EXPECT_EQ(view(0, 8), 6);
}

TEST_F(DataHandles, AreOneTileWhereTheTileIsLarger) {
  auto data = runtime_.data<int>({5});
  const auto tiles = data.tiles(100);
  EXPECT_EQ(tiles.size(), 1u);
  EXPECT_EQ(tiles(0).size(), 5u);
  const auto most = data.tiles(std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(most.count(0), 1u);
  EXPECT_EQ(most(0).size(), 5u);
}

TEST_F(DataHandles, RefuseTilesOfExtentZeroAndIndicesPastTheEnd) {
  auto data = runtime_.data<int>({5, 5}, {.name = "T"});
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { data.tiles(0, 2); }), {"'T'", "extent of 0"}));
  const auto tiles = data.tiles(2, 2);
  EXPECT_EQ(message_of<InvalidArgument>([&] { (void)tiles(3, 0); }),
            "tile (3,0) of data 'T': there are 3 x 3 tiles");
  EXPECT_THROW(tiles(0, 3), InvalidArgument);
  EXPECT_THROW(tiles(-1, 0), InvalidArgument);
}

TEST_F(DataHandles, RefuseBlocksThatReachBeyondOrAreEmpty) {
  auto data = runtime_.data<int>({5, 5}, {.name = "B"});
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] { data.block({3, 0}, {3, 1}); }), {"'B'", "beyond"}));
  EXPECT_THROW(data.block({6, 0}, {1, 1}), InvalidArgument);
  EXPECT_THROW(data.block({0, 0}, {0, 1}), InvalidArgument);
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(data.block({1, 0}, {most, 1}), InvalidArgument);
  EXPECT_THROW(data.block({most, 0}, {2, 1}), InvalidArgument);
}

TEST_F(DataHandles, HavePartsOfParts) {
  std::vector<int> memory(6 * 6, 0);
  auto data = runtime_.data(memory.data(), {6, 6});
  const auto inner = data.tiles(3, 3)(1, 1).block({1, 0}, {2, 2}).tiles(1, 2)(1, 0);
  EXPECT_EQ(inner.size(), 2u);
  runtime_.submit(cpu([](View<int, 2> x) { x(0, 0) = x(0, 1) = 5; }), inner);
  const auto view = runtime_.read(data);
  EXPECT_EQ(view(5, 3), 5);
  EXPECT_EQ(view(5, 4), 5);
  EXPECT_EQ(view(4, 3), 0);
}

TEST_F(DataHandles, KeepOverlappingBlocksAndTheWholeInProgramOrder) {
  std::vector<int> memory(30, 0);
  std::vector<int> expected(30, 0);
  auto data = runtime_.data(std::span(memory));
  const Codelet step{"step", cpu([](int factor, View<int> x) {
                       for (int& element : x) element = (element * 3 + factor) % 1000003;
                     })};
  const std::pair<std::size_t, std::size_t> parts[] = {{0, 30}, {5, 10}, {10, 10}, {0, 6},
                                                       {29, 1}, {3, 20}, {0, 30}};
  for (int round = 0; round < 3; ++round)
    for (const auto& [offset, extent] : parts) {
      runtime_.submit(step, round + static_cast<int>(extent), data.block({offset}, {extent}));
      for (std::size_t i = offset; i < offset + extent; ++i)
        expected[i] = (expected[i] * 3 + round + static_cast<int>(extent)) % 1000003;
    }
  const auto view = runtime_.read(data);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(view[i], expected[i]) << i;
}

TEST_F(DataHandles, LetDisjointPartsBeUsedAtTheSameTime) {
  auto data = runtime_.data<int>({10});
  const auto tiles = data.tiles(5);
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  // Each task ends only when both run: had they been ordered, this would hang.
  for (const auto& tile : tiles)
    runtime_.submit(cpu([&](Out<int> x) {
                      x[0] = 1;
                      std::unique_lock lock(mutex);
                      ++arrived;
                      changed.notify_all();
                      changed.wait(lock, [&] { return arrived == 2; });
                    }),
                    tile);
  runtime_.wait();
  EXPECT_EQ(arrived, 2);
}

TEST_F(DataHandles, RefuseArgumentsOfOneTaskThatOverlapAndAreWritten) {
  auto data = runtime_.data<int>({10}, {.name = "alias"});
  runtime_.submit(testing::set_to(), 1, data);
  const std::string message =
      message_of<InvalidArgument>([&] { runtime_.submit({.name = "twofold"}, testing::copy(), data, data); });
  EXPECT_TRUE(holds(message, {"twofold", "alias", "overlap"}));
  EXPECT_THROW(runtime_.submit(testing::copy(), data.block({0}, {6}), data.block({5}, {5})), InvalidArgument);
  EXPECT_NO_THROW(runtime_.submit(testing::copy(), data.block({0}, {5}), data.block({5}, {5})));
  const Codelet add_to{"add_to", cpu([](View<const int> from, View<int> to) {
                         for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
                       })};
  runtime_.submit(add_to, data, data);
  EXPECT_EQ(runtime_.read(data)[0], 2) << "the same part, read and updated, is one argument given twice";
}

TEST_F(DataHandles, LetOneTaskReadTheSameDataTwice) {
  auto data = runtime_.data<int>({3});
  auto sum = runtime_.data<int>({3});
  runtime_.submit(testing::set_to(), 4, data);
  runtime_.submit(cpu([](View<const int> a, View<const int> b, Out<int> c) {
                    for (std::size_t i = 0; i < c.size(); ++i) c[i] = a[i] + b[i];
                  }),
                  data, data, sum);
  EXPECT_EQ(runtime_.read(sum)[2], 8);
}

TEST_F(DataHandles, RefuseStridesThatReachBeyondTheAddressSpace) {
  std::array<int, 4> memory{};
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] {
                      runtime_.data(memory.data(), {4, 1}, {std::size_t{1} << 62, 1});
                    }),
                    {"stride of 4611686018427387904", "address space"}));
  EXPECT_TRUE(holds(message_of<InvalidArgument>([&] {
                      runtime_.data(memory.data(), {2, 2}, {1, 1}, {.name = "narrow"});
                    }),
                    {"'narrow'", "stride of dimension 0 is 1"}));
}

}  // namespace
}  // namespace hocket
