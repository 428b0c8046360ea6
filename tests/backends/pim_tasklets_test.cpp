// SPDX-License-Identifier: Apache-2.0
// The tasklets of a DPU: scratchpad memory, barriers, mutexes, and what happens when a program goes wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "pim/dpu_set.hpp"

namespace hocket::dpu {
namespace {

/// Runs the program and returns the message of the error that it must cause.
template <class Expected>
std::string error_of(const Configuration& configuration, const Program& program) {
  DpuSet set(configuration);
  try {
    set.launch(program);
  } catch (const Expected& error) {
    return error.what();
  }
  ADD_FAILURE() << "the program should have failed";
  return {};
}

void expect_names(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

TEST(PimLaunch, RunsEveryTaskletOfEveryDpuOnce) {
  DpuSet set({.dpus = 3, .tasklets = 5});
  std::vector<int> runs(15);
  set.launch([&](Tasklet& tasklet) {
    EXPECT_EQ(tasklet.tasklets(), 5u);
    EXPECT_EQ(tasklet.dpus(), 3u);
    ++runs.at(tasklet.dpu() * 5 + tasklet.id());
  });
  EXPECT_EQ(runs, std::vector<int>(15, 1));
}

TEST(PimLaunch, RefusesNumbersThatNoDeviceHas) {
  EXPECT_THROW(DpuSet({.dpus = 0}), InvalidArgument);
  EXPECT_THROW(DpuSet({.dpus = 2561}), InvalidArgument);
  EXPECT_THROW(DpuSet({.dpus = 1, .tasklets = 0}), InvalidArgument);
  EXPECT_THROW(DpuSet({.dpus = 1, .tasklets = 25}), InvalidArgument);
  EXPECT_THROW(DpuSet({.dpus = 1, .tasklets = 1, .mram_bytes = 12}), InvalidArgument);
}

TEST(PimLaunch, RunsTheLargestDevice) {
  DpuSet set({.dpus = kMaximumDpus, .tasklets = 2});
  std::size_t runs = 0;
  set.launch([&](Tasklet& tasklet) {
    ++runs;
    tasklet.barrier();
  });
  EXPECT_EQ(runs, 2u * kMaximumDpus);
}

TEST(PimWram, GivesEachTaskletItsOwnAlignedMemory) {
  DpuSet set({.dpus = 1, .tasklets = 24});
  std::vector<std::uint8_t*> blocks(24);
  set.launch([&](Tasklet& tasklet) {
    auto* block = tasklet.wram<std::uint8_t>(13);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 8, 0u);
    for (int i = 0; i < 13; ++i) block[i] = static_cast<std::uint8_t>(tasklet.id());
    blocks[tasklet.id()] = block;
    tasklet.barrier();
    for (int i = 0; i < 13; ++i) EXPECT_EQ(block[i], tasklet.id());
  });
}

TEST(PimWram, HoldsExactly64KibibytesForAllTasklets) {
  DpuSet set({.dpus = 1, .tasklets = 16});
  EXPECT_NO_THROW(set.launch([](Tasklet& tasklet) { tasklet.wram<std::byte>(4096); }));
  const std::string message = error_of<WramError>({.dpus = 1, .tasklets = 16}, [](Tasklet& tasklet) {
    tasklet.wram<std::byte>(4096);
    if (tasklet.id() == 15) tasklet.wram<double>(1);
  });
  expect_names(message, {"dpu 0, tasklet 15", "1 elements of 8 bytes", "0 of 65536"});
}

TEST(PimWram, RefusesSizesThatWrapAround) {
  error_of<WramError>({.dpus = 1, .tasklets = 1},
                      [](Tasklet& tasklet) { tasklet.wram<double>(std::size_t{1} << 61); });
}

TEST(PimWram, IsFreshForEachDpuAndLaunch) {
  DpuSet set({.dpus = 4, .tasklets = 1});
  for (int launch = 0; launch < 3; ++launch) {
    EXPECT_NO_THROW(set.launch([](Tasklet& tasklet) {
      auto* all = tasklet.shared<std::uint8_t>(0, kWramBytes);
      for (std::size_t i = 0; i < kWramBytes; ++i) ASSERT_EQ(all[i], 0);
      all[7] = 9;
    }));
  }
}

TEST(PimShared, IsOneZeroedBlockForAllTaskletsOfADpu) {
  DpuSet set({.dpus = 3, .tasklets = 16});
  set.launch([](Tasklet& tasklet) {
    auto* sums = tasklet.shared<std::uint32_t>(4, 16);
    sums[tasklet.id()] += tasklet.id() + 1;
    tasklet.barrier();
    if (tasklet.id() != 0) return;
    std::uint32_t total = 0;
    for (int i = 0; i < 16; ++i) total += sums[i];
    EXPECT_EQ(total, 136u);
    EXPECT_NE(tasklet.shared<std::uint32_t>(5, 16), sums);
  });
}

TEST(PimShared, RefusesTwoSizesForOneSlot) {
  const std::string message = error_of<WramError>(
      {.dpus = 1, .tasklets = 2}, [](Tasklet& tasklet) { tasklet.shared<float>(3, 4 + tasklet.id()); });
  expect_names(message, {"tasklet 1", "shared block 3", "16 bytes", "20"});
}

TEST(PimBarrier, HoldsBack24TaskletsUntilTheLast) {
  DpuSet set({.dpus = 2, .tasklets = 24});
  const LaunchReport report = set.launch([](Tasklet& tasklet) {
    auto* arrived = tasklet.shared<unsigned>(0, 1);
    for (unsigned round = 1; round <= 50; ++round) {
      ++*arrived;
      tasklet.barrier();
      ASSERT_EQ(*arrived, 24 * round);
      tasklet.barrier();
    }
  });
  EXPECT_EQ(report.barriers, 2u * 100u);
}

TEST(PimBarrier, IsPassedAtOnceByASingleTasklet) {
  DpuSet set({.dpus = 1, .tasklets = 1});
  EXPECT_EQ(set.launch([](Tasklet& tasklet) { tasklet.barrier(); }).barriers, 1u);
}

TEST(PimBarrier, ThatATaskletEndsWithoutReachingIsAnError) {
  const std::string late = error_of<SynchronisationError>({.dpus = 2, .tasklets = 4}, [](Tasklet& tasklet) {
    if (tasklet.dpu() == 0 || tasklet.id() != 3) tasklet.barrier();
  });
  expect_names(late, {"dpu 1", "barrier mismatch", "tasklet 0 waits", "tasklet 3 has ended"});
  const std::string early = error_of<SynchronisationError>({.dpus = 1, .tasklets = 4}, [](Tasklet& tasklet) {
    if (tasklet.id() != 0) tasklet.barrier();
  });
  expect_names(early, {"barrier mismatch", "tasklet 1 waits", "tasklet 0 has ended"});
}

TEST(PimMutex, IsHandedToTheLongestWaiting) {
  DpuSet set({.dpus = 1, .tasklets = 8});
  std::vector<unsigned> order;
  set.launch([&](Tasklet& tasklet) {
    if (tasklet.id() == 0) tasklet.lock(0);
    if (tasklet.id() == 6) tasklet.lock(1);
    tasklet.barrier();  // the last to arrive, 7, goes on first; then the others in order
    if (tasklet.id() == 0) {
      tasklet.lock(1);  // waits until 6 lets go, so that 1 to 5 queue for mutex 0 meanwhile
      tasklet.unlock(1);
      tasklet.unlock(0);
      return;
    }
    if (tasklet.id() == 6) tasklet.unlock(1);
    tasklet.lock(0);
    order.push_back(tasklet.id());
    tasklet.unlock(0);
  });
  EXPECT_EQ(order, (std::vector<unsigned>{7, 1, 2, 3, 4, 5, 6}));
}

TEST(PimMutex, SerialisesASectionThatSpansABlockingCall) {
  // Tasklets 1..7 hold mutex 0 while they wait for mutex 1, which tasklet 0 keeps until all have started.
  DpuSet set({.dpus = 1, .tasklets = 8});
  unsigned inside = 0;
  unsigned most_inside = 0;
  std::vector<unsigned> order;
  set.launch([&](Tasklet& tasklet) {
    if (tasklet.id() == 0) {
      tasklet.lock(1);
      tasklet.barrier();
      tasklet.unlock(1);
      return;
    }
    tasklet.barrier();
    tasklet.lock(0);
    most_inside = std::max(most_inside, ++inside);
    tasklet.lock(1);
    order.push_back(tasklet.id());
    tasklet.unlock(1);
    --inside;
    tasklet.unlock(0);
  });
  EXPECT_EQ(most_inside, 1u);
  EXPECT_EQ(order.size(), 7u);
}

TEST(PimMutex, DeadlockIsAnErrorThatNamesWhoWaitsForWhom) {
  const std::string message =
      error_of<SynchronisationError>({.dpus = 1, .tasklets = 2}, [](Tasklet& tasklet) {
        tasklet.lock(tasklet.id());
        tasklet.barrier();
        tasklet.lock(1 - tasklet.id());
        tasklet.unlock(1 - tasklet.id());
        tasklet.unlock(tasklet.id());
      });
  expect_names(message, {"dpu 0", "deadlock", "tasklet 0 waits for mutex 1 held by tasklet 1",
                         "tasklet 1 waits for mutex 0 held by tasklet 0"});
}

TEST(PimMutex, HeldAcrossABarrierThatOthersNeedItForIsADeadlock) {
  const std::string message =
      error_of<SynchronisationError>({.dpus = 1, .tasklets = 3}, [](Tasklet& tasklet) {
        tasklet.lock(9);
        tasklet.barrier();
        tasklet.unlock(9);
      });
  expect_names(message, {"tasklet 0 waits at a barrier", "tasklet 1 waits for mutex 9 held by tasklet 0"});
}

TEST(PimMutex, RefusesMisuse) {
  const Configuration one{.dpus = 1, .tasklets = 1};
  expect_names(error_of<SynchronisationError>(one, [](Tasklet& tasklet) { tasklet.lock(56); }),
               {"no mutex 56"});
  expect_names(error_of<SynchronisationError>(one, [](Tasklet& tasklet) { tasklet.unlock(3); }),
               {"mutex 3", "nobody holds"});
  expect_names(error_of<SynchronisationError>(one,
                                              [](Tasklet& tasklet) {
                                                tasklet.lock(4);
                                                tasklet.lock(4);
                                              }),
               {"mutex 4", "already holds"});
  expect_names(error_of<SynchronisationError>(one, [](Tasklet& tasklet) { tasklet.lock(5); }),
               {"ended while it held mutex 5"});
  expect_names(error_of<SynchronisationError>({.dpus = 1, .tasklets = 2},
                                              [](Tasklet& tasklet) {
                                                if (tasklet.id() == 0) tasklet.lock(6);
                                                tasklet.barrier();
                                                if (tasklet.id() == 1) tasklet.unlock(6);
                                                tasklet.barrier();
                                                if (tasklet.id() == 0) tasklet.unlock(6);
                                              }),
               {"tasklet 1", "mutex 6", "tasklet 0 holds"});
}

TEST(PimException, OfTheProgramIsNestedWithDpuAndTasklet) {
  DpuSet set({.dpus = 4, .tasklets = 3});
  try {
    set.launch([](Tasklet& tasklet) {
      if (tasklet.dpu() == 1 && tasklet.id() == 2) throw std::out_of_range("row 17");
    });
    FAIL() << "should have thrown";
  } catch (const LaunchError& error) {
    expect_names(error.what(), {"dpu 1, tasklet 2", "row 17"});
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
}

TEST(PimException, ThatIsNoStdExceptionIsNestedToo) {
  DpuSet set({.dpus = 1, .tasklets = 1});
  try {
    set.launch([](Tasklet&) { throw 42; });
    FAIL() << "should have thrown";
  } catch (const LaunchError& error) {
    EXPECT_THROW(std::rethrow_if_nested(error), int);
  }
}

TEST(PimException, UnwindsTaskletsThatWaitAtABarrier) {
  struct Guard {
    explicit Guard(int& count) : count(++count) {}
    ~Guard() { --count; }
    int& count;
  };
  DpuSet set({.dpus = 1, .tasklets = 24});
  int alive = 0;
  int most_alive = 0;
  bool passed = false;
  EXPECT_THROW(set.launch([&](Tasklet& tasklet) {
    const Guard guard(alive);
    most_alive = std::max(most_alive, alive);
    if (tasklet.id() == 23) throw std::runtime_error("stop");
    tasklet.barrier();
    passed = true;
  }),
               LaunchError);
  EXPECT_EQ(most_alive, 24);
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(passed);
}

TEST(PimException, StopsTaskletsThatHaveNotBegunAndLeavesTheSetUsable) {
  DpuSet set({.dpus = 2, .tasklets = 4});
  int begun = 0;
  EXPECT_THROW(set.launch([&](Tasklet& tasklet) {
    ++begun;
    if (tasklet.id() == 1) throw std::runtime_error("stop");
  }),
               LaunchError);
  EXPECT_EQ(begun, 2);
  begun = 0;
  set.launch([&](Tasklet& tasklet) {
    tasklet.lock(1);
    ++begun;
    tasklet.unlock(1);
    tasklet.barrier();
  });
  EXPECT_EQ(begun, 8);
}

TEST(PimException, StopsAProgramThatSwallowsEverythingAndBlocksAgain) {
  DpuSet set({.dpus = 1, .tasklets = 3});
  EXPECT_THROW(set.launch([](Tasklet& tasklet) {
    if (tasklet.id() == 2) throw std::runtime_error("stop");
    for (int i = 0; i < 3; ++i) {
      try {
        tasklet.barrier();
      } catch (...) {
      }
    }
  }),
               LaunchError);
}

TEST(PimException, InFlightInSeveralTaskletsDoNotMix) {
  DpuSet set({.dpus = 1, .tasklets = 8});
  std::vector<std::string> caught(8);
  set.launch([&](Tasklet& tasklet) {
    try {
      throw std::runtime_error("tasklet " + std::to_string(tasklet.id()));
    } catch (const std::runtime_error&) {
      tasklet.barrier();  // every tasklet is inside its own catch block now
      try {
        throw;
      } catch (const std::runtime_error& error) {
        caught[tasklet.id()] = error.what();
      }
      tasklet.barrier();
    }
  });
  for (unsigned id = 0; id < 8; ++id) EXPECT_EQ(caught[id], "tasklet " + std::to_string(id));
}

TEST(PimLaunch, RunsInTheSameOrderEveryTime) {
  const auto order = [] {
    DpuSet set({.dpus = 2, .tasklets = 9});
    std::vector<unsigned> seen;
    set.launch([&](Tasklet& tasklet) {
      for (unsigned i = 0; i < 4; ++i) {
        tasklet.lock(tasklet.id() % 3);
        seen.push_back(tasklet.id());
        tasklet.unlock(tasklet.id() % 3);
        tasklet.barrier();
      }
    });
    return seen;
  };
  EXPECT_EQ(order(), order());
}

}  // namespace
}  // namespace hocket::dpu
