// SPDX-License-Identifier: Apache-2.0
// The explorer of interleavings itself: on small programs with known sets of outcomes it finds all of them and no
// other.
#include "support/interleavings.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace hocket::testing {
namespace {

using Word = ModelAtomics::Atomic<std::uint64_t>;
using Outcomes = std::set<std::pair<std::uint64_t, std::uint64_t>>;

struct TwoWords {
  Word x{0};
  Word y{0};
  std::uint64_t first = 0;   ///< what the first thread found
  std::uint64_t second = 0;  ///< what the second thread found
};

/// What two threads find, over all interleavings.
Outcomes outcomes(const std::function<void(TwoWords&)>& first, const std::function<void(TwoWords&)>& second) {
  Outcomes seen;
  const Exploration exploration = explore([&](Program& program) {
    const auto words = std::make_shared<TwoWords>();
    program.thread("first", [words, &first] { first(*words); });
    program.thread("second", [words, &second] { second(*words); });
    program.afterwards([words, &seen] { seen.emplace(words->first, words->second); });
  });
  EXPECT_TRUE(exploration.exhausted);
  EXPECT_EQ(exploration.failure, "");
  return seen;
}

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcquire = std::memory_order_acquire;

TEST(Interleavings, LetAStoreWaitBehindALaterLoad) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1, kRelease);
        words.first = words.y.load(kAcquire);
      },
      [](TwoWords& words) {
        words.y.store(1, kRelease);
        words.second = words.x.load(kAcquire);
      });
  EXPECT_EQ(seen, (Outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(Interleavings, KeepAStoreBeforeALaterLoadAcrossTwoFences) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1, kRelaxed);
        ModelAtomics::fence();
        words.first = words.y.load(kRelaxed);
      },
      [](TwoWords& words) {
        words.y.store(1, kRelaxed);
        ModelAtomics::fence();
        words.second = words.x.load(kRelaxed);
      });
  EXPECT_EQ(seen, (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(Interleavings, KeepAStoreBeforeALaterLoadAcrossOneHeavyFence) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1, kRelaxed);
        words.first = words.y.load(kRelaxed);
      },
      [](TwoWords& words) {
        words.y.store(1, kRelaxed);
        ModelAtomics::heavy_fence();
        words.second = words.x.load(kRelaxed);
      });
  EXPECT_EQ(seen, (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

TEST(Interleavings, KeepSequentiallyConsistentStoresBeforeLaterLoads) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1);
        words.first = words.y.load();
      },
      [](TwoWords& words) {
        words.y.store(1);
        words.second = words.x.load();
      });
  EXPECT_EQ(seen, (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

/// One thread writes a message and a flag; the other reads the flag and the message.
Outcomes message_passing(std::memory_order flag_order) {
  return outcomes(
      [=](TwoWords& words) {
        words.x.store(1, kRelaxed);
        words.y.store(1, flag_order);
      },
      [](TwoWords& words) {
        words.first = words.y.load(kAcquire);
        words.second = words.x.load(kRelaxed);
      });
}

TEST(Interleavings, LetRelaxedStoresReachMemoryInAnyOrder) {
  EXPECT_EQ(message_passing(kRelaxed), (Outcomes{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

TEST(Interleavings, KeepAReleaseStoreBehindThoseBeforeIt) {
  EXPECT_EQ(message_passing(kRelease), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(Interleavings, KeepTheStoresToOnePlaceInOrder) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1, kRelaxed);
        words.x.store(2, kRelaxed);
      },
      [](TwoWords& words) {
        words.first = words.x.load(kRelaxed);
        words.second = words.x.load(kRelaxed);
      });
  EXPECT_EQ(seen, (Outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(Interleavings, LetAThreadReadItsOwnStoresAtOnce) {
  const auto seen = outcomes(
      [](TwoWords& words) {
        words.x.store(1, kRelaxed);
        words.first = words.x.load(kRelaxed);
      },
      [](TwoWords& words) { words.second = words.x.load(kRelaxed); });
  EXPECT_EQ(seen, (Outcomes{{1, 0}, {1, 1}}));
}

TEST(Interleavings, DoReadModifyWritesInOneStep) {
  const auto add = [](std::uint64_t TwoWords::*found) {
    return [found](TwoWords& words) { words.*found = words.x.fetch_add(1, kRelaxed); };
  };
  EXPECT_EQ(outcomes(add(&TwoWords::first), add(&TwoWords::second)), (Outcomes{{0, 1}, {1, 0}}));
}

TEST(Interleavings, TearLoadAndStoreApart) {
  const auto add = [](std::uint64_t TwoWords::*found) {
    return [found](TwoWords& words) {
      words.*found = words.x.load(kRelaxed);
      words.x.store(words.*found + 1, kRelaxed);
    };
  };
  EXPECT_EQ(outcomes(add(&TwoWords::first), add(&TwoWords::second)), (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(Interleavings, FindThreadsThatSleepForEver) {
  using Sleepers = ModelAtomics::Atomic<std::uint32_t>;
  const Exploration exploration = explore([](Program& program) {
    const auto word = std::make_shared<Sleepers>(0);
    program.thread("sleeper", [word] { ModelAtomics::sleep(*word, 0, std::nullopt); });
    program.thread("waker", [word] { ModelAtomics::wake(*word, 1); });  // too early, in some runs
  });
  EXPECT_NE(exploration.failure.find("sleeps for ever"), std::string::npos) << exploration.failure;
  EXPECT_FALSE(exploration.exhausted);
}

TEST(Interleavings, LetAnyOfTheSleepersWake) {
  using Sleepers = ModelAtomics::Atomic<std::uint32_t>;
  std::set<std::string> woken;
  const Exploration exploration = explore([&](Program& program) {
    struct State {
      Sleepers word{0};
      std::string order;
    };
    const auto state = std::make_shared<State>();
    for (const std::string name : {"a", "b"})
      program.thread(name, [state, name] {
        if (ModelAtomics::sleep(state->word, 0, ModelAtomics::Deadline{})) state->order += name;
      });
    program.thread("waker", [state] { ModelAtomics::wake(state->word, 1); });
    program.afterwards([state, &woken] { woken.insert(state->order); });
  });
  EXPECT_TRUE(exploration.exhausted);
  EXPECT_EQ(woken, (std::set<std::string>{"", "a", "b"}));
}

TEST(Interleavings, TellTheScheduleOfAFailure) {
  const Exploration exploration = explore([](Program& program) {
    const auto word = std::make_shared<Word>(0);
    program.thread("writer", [word] { word->store(7, kRelaxed); });
    program.thread("reader", [word] {
      if (word->load(kRelaxed) == 7) fail("seven");
    });
  });
  EXPECT_EQ(exploration.failure,
            "seven\n  writer: stores 7 to [0], buffered\n  writer: ends\n  writer: its 7 reaches [0]\n"
            "  reader: loads 7 from [0]\n");
}

TEST(Interleavings, StopAtTheLimitOfSchedules) {
  const Exploration exploration = explore(
      [](Program& program) {
        const auto word = std::make_shared<Word>(0);
        for (const char* name : {"a", "b", "c"}) program.thread(name, [word] { word->fetch_add(1); });
      },
      3);
  EXPECT_EQ(exploration.schedules, 3U);
  EXPECT_FALSE(exploration.exhausted);
}

}  // namespace
}  // namespace hocket::testing
