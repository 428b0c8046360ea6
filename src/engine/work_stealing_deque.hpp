// SPDX-License-Identifier: Apache-2.0
/// A work-stealing deque without locks: its owner pushes and pops at one end, anyone steals at the other.
///
/// The algorithm is that of Chase and Lev ("Dynamic circular work-stealing deque", SPAA 2005), with the memory
/// orders of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient work-stealing for weak memory models", PPoPP
/// 2013), except that each store of `bottom_` is a release store where they put a release fence in `push`: since
/// C++20 a later relaxed store by the same thread no longer belongs to a release sequence, so a thief that read the
/// store of a `pop` would not be ordered behind the `push`.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/atomic_ring.hpp"
#include "engine/std_atomics.hpp"

namespace hocket::engine {

/// Holds values other than 0. One thread at a time is the owner; to hand ownership over, order the two threads
/// (a mutex, a release store). What happened before a `push` of a value happened before the return of the `pop` or
/// `steal` that takes it. Whoever takes a value owns what it stands for; what is left at destruction is forgotten.
template <class Atomics = StdAtomics>
class BasicWorkStealingDeque {
 public:
  explicit BasicWorkStealingDeque(std::size_t initial_capacity = 64)
      : ring_(std::make_unique<Ring>(Ring::rounded(initial_capacity))), shared_ring_(ring_.get()) {}
  BasicWorkStealingDeque(const BasicWorkStealingDeque&) = delete;
  BasicWorkStealingDeque& operator=(const BasicWorkStealingDeque&) = delete;

  /// Owner only. Two plain stores, unless the ring looks full; then it may throw std::bad_alloc, with the deque as
  /// it was.
  void push(std::uint64_t value) {
    assert(value != 0);
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own store
    if (bottom - known_top_ >= ring_->capacity()) make_room(bottom);
    ring_->set(bottom, value);
    // Publishes the slot, and what the value stands for, to the acquire load of a thief.
    bottom_.store(bottom + 1, std::memory_order_release);
  }

  /// Owner only: takes the newest value; 0 when empty. One full fence, and a compare-and-swap for the last value.
  std::uint64_t pop() noexcept {
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);  // own store
    if (bottom == known_top_) return 0;  // known_top_ <= top_ <= bottom_: empty for certain
    const std::uint64_t newest = bottom - 1;
    bottom_.store(newest, std::memory_order_release);
    // Claims the newest value before it looks at `top_`; pairs with the fence in `steal`, where a thief looks at
    // `top_` and then at `bottom_`. Of the two, at least one sees the other's claim.
    Atomics::fence();
    std::uint64_t top = top_.load(std::memory_order_acquire);  // acquire: as in `make_room`
    std::uint64_t value = 0;
    if (top < newest) {
      known_top_ = top;
      return ring_->get(newest);  // more than one left: no thief can reach the newest
    }
    if (top == newest) {  // the last: race the thieves for it
      value = ring_->get(newest);
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_acquire))
        value = 0;
    }
    bottom_.store(bottom, std::memory_order_release);
    known_top_ = bottom;  // empty now: `top_` has come up to it
    return value;
  }

  /// Anyone: takes the oldest value; 0 when the deque was empty at some time during the call. Lock-free: it tries
  /// again only when another thread has taken a value.
  std::uint64_t steal() noexcept {
    while (true) {
      std::uint64_t top = top_.load(std::memory_order_acquire);
      Atomics::fence();  // pairs with the fence in `pop`
      const std::uint64_t bottom =
          bottom_.load(std::memory_order_acquire);  // pairs with the stores of the owner
      // Signed: a `pop` on an empty deque sets `bottom_` below `top_` for a moment.
      if (static_cast<std::int64_t>(bottom - top) <= 0) return 0;
      // At least the ring that held the value at `top` when `bottom_` was stored.
      const Ring* const ring = shared_ring_.load(std::memory_order_acquire);
      const std::uint64_t value = ring->get(top);
      // Release: the read of the slot is before the owner's reuse of it, see `make_room`.
      if (top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        return value;
    }
  }

  /// Anyone: how many values there were a moment ago.
  std::size_t size_hint() const noexcept {
    const std::uint64_t top = top_.load(std::memory_order_relaxed);
    const std::uint64_t bottom = bottom_.load(std::memory_order_relaxed);
    const auto size = static_cast<std::int64_t>(bottom - top);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }

 private:
  using Ring = AtomicRing<Atomics>;

  /// Looks how far the thieves are, and doubles the ring if it is full indeed.
  [[gnu::noinline, gnu::cold]] void make_room(std::uint64_t bottom) {
    // Acquire: a thief read its slot before it moved `top_`; the owner reuses the slot after this load.
    known_top_ = top_.load(std::memory_order_acquire);
    if (bottom - known_top_ < ring_->capacity()) return;
    ring_ = Ring::doubled(ring_, known_top_, bottom);
    shared_ring_.store(ring_.get(), std::memory_order_release);  // publishes the new slots to thieves
  }

  // The owner's block. Thieves read `bottom_`.
  alignas(kNoSharingBytes) typename Atomics::template Atomic<std::uint64_t> bottom_{0};
  std::uint64_t known_top_ = 0;  ///< `top_` at some time before
  std::unique_ptr<Ring> ring_;   ///< with all smaller ones inside
  // The thieves' block. The owner reads it when the ring looks full and in `pop`.
  alignas(kNoSharingBytes) typename Atomics::template Atomic<std::uint64_t> top_{0};
  typename Atomics::template Atomic<const Ring*> shared_ring_;
};

using WorkStealingDeque = BasicWorkStealingDeque<>;

}  // namespace hocket::engine
