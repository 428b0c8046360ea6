// SPDX-License-Identifier: Apache-2.0
/// The array below the lock-free queues: a ring of atomic slots in which positions count up for ever. It has one
/// writer. A ring that is full is replaced by one of twice the size; readers that still hold the old one may go on
/// reading it, as the slots it had are never written again.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace hocket::engine {

template <class Atomics>
class AtomicRing {
 public:
  /// `capacity`: a power of two.
  explicit AtomicRing(std::uint64_t capacity) : mask_(capacity - 1), slots_(new Slot[capacity]{}) {}

  std::uint64_t capacity() const noexcept { return mask_ + 1; }

  // Relaxed: the queue's release store of its end publishes a slot. A reader whose slot is being reused reads any
  // value that was there; its compare-and-swap on the queue's beginning then fails, and it drops the value.
  std::uint64_t get(std::uint64_t position) const noexcept {
    return slots_[position & mask_].load(std::memory_order_relaxed);
  }
  void set(std::uint64_t position, std::uint64_t value) noexcept {
    slots_[position & mask_].store(value, std::memory_order_relaxed);
  }

  /// A ring of twice the size with the values at [first, last) in it; `ring` lives on inside.
  static std::unique_ptr<AtomicRing> doubled(std::unique_ptr<AtomicRing>& ring, std::uint64_t first,
                                             std::uint64_t last) {
    auto larger = std::make_unique<AtomicRing>(ring->capacity() * 2);
    for (std::uint64_t position = first; position != last; ++position)
      larger->set(position, ring->get(position));
    larger->smaller_ = std::move(ring);
    return larger;
  }

  /// The power of two at or above `capacity`.
  static std::uint64_t rounded(std::size_t capacity) noexcept {
    return std::bit_ceil(std::uint64_t{capacity < 1 ? 1 : capacity});
  }

 private:
  using Slot = typename Atomics::template Atomic<std::uint64_t>;

  const std::uint64_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<AtomicRing> smaller_;  ///< kept for its readers
};

}  // namespace hocket::engine
