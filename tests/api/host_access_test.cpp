// SPDX-License-Identifier: Apache-2.0
// Access to data from the program: read() and write().
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtimes.hpp"
#include "support/watchdog.hpp"

namespace hocket {
namespace {

using testing::eventually;
using testing::Gate;
using testing::holds;
using testing::message_of;
using testing::options_for;

class HostAccess : public testing::WatchedTest {
 protected:
  HostAccess() { runtime_.submit(testing::set_to(), 1, data_); }

  Runtime runtime_{options_for("cpu:2")};
  Data<int> data_ = runtime_.data<int>({8}, {.name = "shared"});
};

TEST_F(HostAccess, WaitsForTheWriterAndSeesWhatItWrote) {
  Gate gate;
  runtime_.submit(cpu([&](View<int> x) {
                    gate.pass();
                    x[3] = 42;
                  }),
                  data_);
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(runtime_.read(data_)[3], 42);
  opener.join();
}

TEST_F(HostAccess, CanBeMovedAndEndsOnce) {
  auto first = runtime_.read(data_);
  auto second = std::move(first);
  std::optional<HostView<const int>> third(std::move(second));
  EXPECT_EQ((*third)[0], 1);
  third.reset();
  runtime_.submit(testing::add(), 1, data_);
  EXPECT_EQ(runtime_.read(data_)[0], 2);
}

TEST_F(HostAccess, CanBeReturnedFromAFunctionAndOutliveTheHandle) {
  const auto open = [&] {
    auto local = runtime_.data<int>({4});
    runtime_.submit(testing::set_to(), 9, local);
    return runtime_.read(local);
  };
  const auto view = open();
  EXPECT_EQ(view[3], 9);
}

TEST_F(HostAccess, CanEndOnAnotherThread) {
  auto view = runtime_.write(data_);
  view[0] = 5;
  std::thread([moved = std::move(view)]() mutable { const auto ended = std::move(moved); }).join();
  EXPECT_EQ(runtime_.read(data_)[0], 5);
}

TEST_F(HostAccess, LetsTasksReadWhileTheProgramReads) {
  const auto view = runtime_.read(data_);
  auto copy = runtime_.data<int>({8});
  runtime_.submit(testing::copy(), data_, copy).get();  // hangs, if the view kept it out
  const auto again = runtime_.read(data_);
  EXPECT_EQ(view[0], again[0]);
}

TEST_F(HostAccess, HoldsUpWritersWhileTheProgramReads) {
  std::atomic<bool> written{false};
  Task writer;
  {
    const auto view = runtime_.read(data_);
    writer = runtime_.submit(cpu([&](View<int> x) {
                               x[0] = 2;
                               written = true;
                             }),
                             data_);
    EXPECT_FALSE(writer.wait_for(Seconds{0.02}));
    EXPECT_FALSE(written);
    EXPECT_EQ(view[0], 1);
  }
  writer.get();
  EXPECT_EQ(runtime_.read(data_)[0], 2);
}

TEST_F(HostAccess, HoldsUpReadersWhileTheProgramWrites) {
  auto copy = runtime_.data<int>({8});
  Task reader;
  {
    auto view = runtime_.write(data_);
    reader = runtime_.submit(testing::copy(), data_, copy);
    EXPECT_FALSE(reader.wait_for(Seconds{0.02}));
    for (int& element : view) element = 7;
  }
  reader.get();
  EXPECT_EQ(runtime_.read(copy)[7], 7);
}

TEST_F(HostAccess, ToDisjointPartsIsHeldAtTheSameTime) {
  const auto tiles = data_.tiles(4);
  auto left = runtime_.write(tiles(0));
  auto right = runtime_.write(tiles(1));
  left[0] = 10;
  right[0] = 20;
  EXPECT_EQ(left.size(), 4u);
}

TEST_F(HostAccess, ToAPartSeesOnlyThatPart) {
  std::vector<int> memory(24);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  auto matrix = runtime_.data(memory.data(), {4, 6});
  const auto view = runtime_.read(matrix.block({1, 2}, {2, 3}));
  EXPECT_EQ(view.extent(0), 2u);
  EXPECT_EQ(view.extent(1), 3u);
  EXPECT_EQ(view.stride(0), 6u);
  EXPECT_EQ(view(1, 2), 16);
  EXPECT_FALSE(view.contiguous());
}

TEST_F(HostAccess, KeepsTheDataUntilTheEndOfTheProgramOrder) {
  for (int round = 0; round < 100; ++round) {
    runtime_.submit(testing::add(), 1, data_);
    if (round % 3 == 0) {
      auto view = runtime_.write(data_);
      view[0] += 10;
    }
  }
  EXPECT_EQ(runtime_.read(data_)[0], 1 + 100 + 34 * 10);
  EXPECT_EQ(runtime_.read(data_)[1], 1 + 100);
}

// ---- what would never end
// -----------------------------------------------------------------------------------------

TEST_F(HostAccess, RefusesToWaitForTheCallersOwnView) {
  auto view = runtime_.read(data_);
  EXPECT_TRUE(holds(message_of<Error>([&] { runtime_.write(data_); }),
                    {"'shared'", "never end", "this thread holds"}));
  view[0];  // still valid
}

TEST_F(HostAccess, RefusesToWaitForATaskThatWaitsForTheCallersOwnView) {
  {
    auto view = runtime_.write(data_);
    const Task reader = runtime_.submit({.name = "stuck"}, cpu([](View<const int>) {}), data_);
    EXPECT_TRUE(holds(message_of<Error>([&] { reader.get(); }), {"stuck", "never end", "let it go"}));
    EXPECT_TRUE(holds(message_of<Error>([&] { runtime_.wait(); }), {"never end"}));
    view[0] = 3;
  }
  runtime_.wait();
  EXPECT_EQ(runtime_.read(data_)[0], 3);
}

TEST_F(HostAccess, IsUsableAgainAfterARefusal) {
  {
    auto view = runtime_.write(data_);
    EXPECT_THROW(runtime_.read(data_), Error);
    EXPECT_THROW(runtime_.write(data_), Error);
    view[0] = 4;
  }
  EXPECT_EQ(runtime_.read(data_)[0], 4);
  runtime_.submit(testing::add(), 1, data_);
  auto view = runtime_.write(data_);
  EXPECT_EQ(view[0], 5);
}

TEST_F(HostAccess, WaitsPatientlyForAViewThatAnotherThreadHolds) {
  Gate held;
  Gate release;
  std::thread holder([&] {
    auto view = runtime_.write(data_);
    held.open();
    release.pass();
    view[0] = 6;
  });
  held.pass();
  std::atomic<int> seen{0};
  std::thread reader([&] { seen = runtime_.read(data_)[0]; });
  // Longer than the library takes to find out that a wait can never end.
  std::this_thread::sleep_for(std::chrono::milliseconds{900});
  release.open();
  holder.join();
  reader.join();
  EXPECT_EQ(seen, 6);
}

TEST_F(HostAccess, WaitsPatientlyForATaskInALongTimedWait) {
  Gate gate;
  const Task blocked = runtime_.submit(cpu([&](View<int>) { gate.pass(); }), data_);
  bool over = true;
  const Task waiter = runtime_.submit(cpu([&] { over = blocked.wait_for(Seconds{0.9}); }));
  EXPECT_NO_THROW(waiter.get());
  EXPECT_FALSE(over);
  gate.open();
  blocked.get();  // it must have left the gate before that goes
}

TEST_F(HostAccess, SurvivesManyThreadsThatTakeTurns) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if ((i + t) % 3 == 0) {
          auto view = runtime_.write(data_);
          ++view[0];
        } else if ((i + t) % 3 == 1) {
          runtime_.submit(testing::add(), 1, data_);
        } else {
          EXPECT_GE(runtime_.read(data_)[0], 1);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  int expected = 1;
  for (int t = 0; t < 4; ++t)
    for (int i = 0; i < 50; ++i) expected += (i + t) % 3 == 2 ? 0 : 1;
  EXPECT_EQ(runtime_.read(data_)[0], expected);
}

TEST_F(HostAccess, InsideATaskToDataOfItsOwn) {
  int sum = 0;
  runtime_
      .submit(cpu([&] {
        auto mine = runtime_.data<int>({16});
        {
          auto view = runtime_.write(mine);
          for (int& element : view) element = 2;
        }
        runtime_.submit(testing::add(), 1, mine);
        const auto view = runtime_.read(mine);
        for (const int element : view) sum += element;
      }))
      .get();
  EXPECT_EQ(sum, 48);
}

}  // namespace
}  // namespace hocket
