// SPDX-License-Identifier: Apache-2.0
/// A first-in first-out queue without locks, for one thread that submits and any number that take: one value or
/// several at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/atomic_ring.hpp"
#include "engine/std_atomics.hpp"

namespace hocket::engine {

/// Holds values other than 0. One thread at a time is the owner; to hand ownership over, order the two threads
/// (a mutex, a release store). What happened before a `push` of a value happened before the return of the `take`
/// that gets it. Whoever takes a value owns what it stands for; what is left at destruction is forgotten.
///
/// The values at [head_, tail_) are in the queue. Both positions only grow, so a taker whose compare-and-swap on
/// `head_` succeeds has read slots that were in the queue all the time, and needs no fence.
template <class Atomics = StdAtomics>
class BasicSubmissionQueue {
 public:
  explicit BasicSubmissionQueue(std::size_t initial_capacity = 64)
      : ring_(std::make_unique<Ring>(Ring::rounded(initial_capacity))), shared_ring_(ring_.get()) {}
  BasicSubmissionQueue(const BasicSubmissionQueue&) = delete;
  BasicSubmissionQueue& operator=(const BasicSubmissionQueue&) = delete;

  /// Owner only. Two plain stores, unless the ring looks full; then it may throw std::bad_alloc, with the queue as
  /// it was.
  void push(std::uint64_t value) {
    assert(value != 0);
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);  // own store
    if (tail - known_head_ >= ring_->capacity()) make_room(tail);
    ring_->set(tail, value);
    // Publishes the slot, and what the value stands for, to the acquire load of a taker.
    tail_.store(tail + 1, std::memory_order_release);
  }

  /// Anyone: takes the oldest value; 0 when the queue was empty. Lock-free: it tries again only when another thread
  /// has taken a value.
  std::uint64_t take() noexcept {
    std::uint64_t value = 0;
    return take_some(&value, 1) == 1 ? value : 0;  // a lost race leaves its value behind
  }

  /// Anyone: takes the oldest values, up to `most`, in one step: they stand one after the other in the order of the
  /// pushes. Says how many; 0 when the queue was empty. What it leaves in the rest of `values` means nothing.
  std::size_t take_some(std::uint64_t* values, std::size_t most) noexcept {
    // Acquire: `tail_`, read next, is then not older than this head.
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (true) {
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);  // pairs with the stores of `push`
      if (head >= tail) return 0;
      const std::uint64_t count = std::min<std::uint64_t>(most, tail - head);
      // At least the ring that held the newest of them when `tail_` was stored.
      const Ring* const ring = shared_ring_.load(std::memory_order_acquire);
      for (std::uint64_t i = 0; i < count; ++i) values[i] = ring->get(head + i);
      // Release: the reads of the slots are before the owner's reuse of them, see `make_room`.
      if (head_.compare_exchange_weak(head, head + count, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return static_cast<std::size_t>(count);
    }
  }

  /// Anyone: how many values there were a moment ago.
  std::size_t size_hint() const noexcept {
    const std::uint64_t head = taken();
    const std::uint64_t tail = pushed();
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }
  /// Anyone: how many values have been pushed, and taken, since the beginning. Each may be outdated when it is read;
  /// neither publishes anything.
  std::uint64_t pushed() const noexcept { return tail_.load(std::memory_order_relaxed); }
  std::uint64_t taken() const noexcept { return head_.load(std::memory_order_relaxed); }

 private:
  using Ring = AtomicRing<Atomics>;

  /// Looks how far the takers are, and doubles the ring if it is full indeed.
  [[gnu::noinline, gnu::cold]] void make_room(std::uint64_t tail) {
    // Acquire: a taker read its slots before it moved `head_`; the owner reuses them after this load.
    known_head_ = head_.load(std::memory_order_acquire);
    if (tail - known_head_ < ring_->capacity()) return;
    ring_ = Ring::doubled(ring_, known_head_, tail);
    shared_ring_.store(ring_.get(), std::memory_order_release);  // publishes the new slots to takers
  }

  // The owner's block. Takers read `tail_`.
  alignas(kNoSharingBytes) typename Atomics::template Atomic<std::uint64_t> tail_{0};
  std::uint64_t known_head_ = 0;  ///< `head_` at some time before
  std::unique_ptr<Ring> ring_;    ///< with all smaller ones inside
  // The takers' block. The owner reads it only when the ring looks full.
  alignas(kNoSharingBytes) typename Atomics::template Atomic<std::uint64_t> head_{0};
  typename Atomics::template Atomic<const Ring*> shared_ring_;
};

using SubmissionQueue = BasicSubmissionQueue<>;

}  // namespace hocket::engine
