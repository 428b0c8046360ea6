// SPDX-License-Identifier: Apache-2.0
/// Runs a small concurrent program in every way in which its threads can interleave, on a machine with store buffers,
/// and reports the first run that breaks a requirement or never ends.
///
/// The threads are fibers of the calling thread. They talk to each other through `ModelAtomics`, a stand-in for
/// `hocket::engine::StdAtomics`. Each load, read-modify-write, fence, sleep and wake-up is a point where any other
/// thread may go first.
///
/// A store waits in its thread's buffer, which only that thread reads, until it reaches memory at a time of the
/// explorer's choosing: a relaxed store in any order with the stores to other places, a release store after all the
/// stores before it. A full fence, a read-modify-write or a system call waits until its thread's buffer is empty. So a
/// missing store-load fence is found as on x86-64, and a missing release store as on weaker machines. What is not
/// modelled: loads that overtake loads, and read-modify-writes weaker than full fences.
///
/// The search is depth first, by running the program anew for each schedule. A state seen before is not searched
/// again: a thread's own state is a function of what its operations returned, so the state of the machine is the
/// hash of those histories, the memory and the buffers. Nothing else bounds the search: where `exhausted` is set, every
/// interleaving was covered (up to the collision of two 64-bit hashes).
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/sanitized.hpp"

namespace hocket::testing {

/// Whether this build is slow: checked by a sanitizer, or not optimized. Explorations then stop early, and leave it to
/// other builds to cover every interleaving.
#if defined(HOCKET_ADDRESS_SANITIZER) || defined(HOCKET_THREAD_SANITIZER) || !defined(__OPTIMIZE__)
inline constexpr bool kExplorationsStopEarly = true;
#else
inline constexpr bool kExplorationsStopEarly = false;
#endif

/// What a run of the explored program consists of. Built anew for each schedule: it must be the same each time.
class Program {
 public:
  /// Threads must not spin: each loop ends by itself, sleeps, or goes round only when another thread got on.
  void thread(std::string name, std::function<void()> body) {
    threads.push_back({std::move(name), std::move(body)});
  }
  /// Looks at the outcome when all threads have ended. The last one given counts.
  void afterwards(std::function<void()> body) { check = std::move(body); }

  struct Thread {
    std::string name;
    std::function<void()> body;
  };
  std::vector<Thread> threads;
  std::function<void()> check;
};

struct Exploration {
  std::uint64_t schedules = 0;  ///< runs of the program
  std::uint64_t states = 0;     ///< different states in which there was a choice
  bool exhausted = false;       ///< every interleaving was covered; false after a failure
  std::string failure;          ///< the first failure with its schedule; empty when there is none
};

/// Explores at most that many schedules.
Exploration explore(const std::function<void(Program&)>& build,
                    std::uint64_t most_schedules = kExplorationsStopEarly ? 10'000 : 10'000'000);

/// In a thread or a check of an explored program: says that the current schedule has gone wrong.
void fail(const std::string& message);

/// Faults that the model machine can have, to show that an exploration finds what they break.
enum class Flaw {
  kNone,
  kNoFence,               ///< full fences do nothing
  kTornCompareExchange,   ///< a compare-and-swap is a load and a later store
  kUnorderedStores,       ///< release stores are relaxed
  kSleepsWithoutLooking,  ///< a thread falls asleep whatever the word is
  kNoWake,                ///< wake-ups are lost
};

namespace model {

/// A place in the memory of the model machine.
class Location {
 public:
  Location(std::uint64_t bits, bool pointer);
  Location(const Location&) = delete;
  Location& operator=(const Location&) = delete;
  ~Location();

  std::uint64_t load() const;
  void store(std::uint64_t bits, bool release, bool fence_after);
  /// One step: `change` says what to store for what it found; nothing: the place stays. Returns what it found.
  template <class Change>
  std::uint64_t update(const Change& change) {
    before_update();
    const std::uint64_t found = bits;
    after_update(change(found));
    return found;
  }

  std::uint64_t bits;
  std::uint64_t identity;  ///< the same in all runs
  bool pointer;            ///< its values are addresses, which differ from run to run
  unsigned number = 0;     ///< in the order of construction; for people

 private:
  void before_update();
  void after_update(std::optional<std::uint64_t> changed);
};

void fence();
void heavy_fence();
bool sleep(const Location& word, std::uint64_t expected, bool timed, bool look);
int wake(const Location& word, int most);

}  // namespace model

template <Flaw flaw = Flaw::kNone>
struct FlawedModelAtomics {
  using Deadline = std::chrono::steady_clock::time_point;

  template <class T>
  class Atomic {
    static_assert(std::is_integral_v<T> || std::is_pointer_v<T>);

   public:
    Atomic() : Atomic(T{}) {}
    Atomic(T value)
        : location_(to_bits(value), std::is_pointer_v<T>) {}  // NOLINT: implicit, as in std::atomic

    T load(std::memory_order = std::memory_order_seq_cst) const { return from_bits(location_.load()); }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) {
      const bool release = order != std::memory_order_relaxed && flaw != Flaw::kUnorderedStores;
      location_.store(to_bits(value), release, order == std::memory_order_seq_cst && flaw != Flaw::kNoFence);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
      const std::uint64_t wanted = to_bits(expected);
      if constexpr (flaw == Flaw::kTornCompareExchange) {
        const std::uint64_t found = location_.load();
        if (found == wanted) location_.store(to_bits(desired), true, true);
        expected = from_bits(found);
        return found == wanted;
      }
      const std::uint64_t found = location_.update([&](std::uint64_t value) {
        return value == wanted ? std::optional<std::uint64_t>(to_bits(desired)) : std::nullopt;
      });
      expected = from_bits(found);
      return found == wanted;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success = std::memory_order_seq_cst,
                               std::memory_order failure = std::memory_order_seq_cst) {
      return compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T addend, std::memory_order = std::memory_order_seq_cst) {
      return from_bits(location_.update([&](std::uint64_t value) {
        return std::optional<std::uint64_t>(to_bits(static_cast<T>(from_bits(value) + addend)));
      }));
    }
    T fetch_sub(T subtrahend, std::memory_order order = std::memory_order_seq_cst) {
      return fetch_add(static_cast<T>(T{} - subtrahend), order);
    }

    const model::Location& location() const { return location_; }

   private:
    static std::uint64_t to_bits(T value) {
      if constexpr (std::is_pointer_v<T>)
        return std::bit_cast<std::uintptr_t>(value);
      else
        return static_cast<std::uint64_t>(value);
    }
    static T from_bits(std::uint64_t bits) {
      if constexpr (std::is_pointer_v<T>)
        return std::bit_cast<T>(static_cast<std::uintptr_t>(bits));
      else
        return static_cast<T>(bits);
    }

    model::Location location_;
  };

  static void fence() {
    if constexpr (flaw != Flaw::kNoFence) model::fence();
  }
  /// The rare side of an asymmetric fence: goes on when all stores that are in any thread's buffer now are in memory.
  static void heavy_fence() { model::heavy_fence(); }
  /// A sleep with a deadline may be over at any time.
  static bool sleep(const Atomic<std::uint32_t>& word, std::uint32_t expected,
                    std::optional<Deadline> deadline) {
    return model::sleep(word.location(), expected, deadline.has_value(), flaw != Flaw::kSleepsWithoutLooking);
  }
  /// Any of the sleepers may be the one that wakes.
  static int wake(const Atomic<std::uint32_t>& word, int most) {
    return flaw == Flaw::kNoWake ? 0 : model::wake(word.location(), most);
  }
};
using ModelAtomics = FlawedModelAtomics<>;

}  // namespace hocket::testing
