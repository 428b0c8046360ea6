// SPDX-License-Identifier: Apache-2.0
/// A queue whose owner pushes and pops at one end, without locks, while any thread steals from the other.
///
/// The algorithm is that of Chase and Lev (SPAA 2005) with the memory orders of Lê, Pop, Cohen and Zappa Nardelli (PPoPP
/// 2013, figure 1). Arrays that were outgrown are kept until destruction: thieves may still read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/atomics.hpp"

namespace hocket::engine {

/// Values are any but 0, which stands for none.
template <class Atomics>
class BasicWorkStealingDeque {
 public:
  using Value = std::uint64_t;
  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;

  explicit BasicWorkStealingDeque(std::size_t capacity = 64) {
    arrays_.push_back(std::make_unique<Array>(capacity));
    array_.store(arrays_.back().get(), std::memory_order_relaxed);
  }
  BasicWorkStealingDeque(const BasicWorkStealingDeque&) = delete;
  BasicWorkStealingDeque& operator=(const BasicWorkStealingDeque&) = delete;

  /// By the owner. Throws `std::bad_alloc`, without effect.
  void push(Value value) {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    Array* array = array_.load(std::memory_order_relaxed);
    // The top only grows, so an old value of it errs on the safe side.
    if (bottom - known_top_ >= array->capacity()) {
      known_top_ = top_.load(std::memory_order_acquire);
      if (bottom - known_top_ >= array->capacity()) array = grow(known_top_, bottom);
    }
    array->put(bottom, value);
    // Release: who sees the new bottom sees the value, and what the owner did before.
    bottom_.store(bottom + 1, std::memory_order_release);
  }

  /// By the owner: the newest; 0 where there is none.
  Value pop() {
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
    Array* const array = array_.load(std::memory_order_relaxed);
    bottom_.store(bottom, with_fences(std::memory_order_relaxed));
    Atomics::fence();  // the thieves see the new bottom, or this sees their top
    std::int64_t top = top_.load(with_fences(std::memory_order_relaxed));
    if (top > bottom) {
      bottom_.store(bottom + 1, std::memory_order_relaxed);
      return 0;
    }
    Value value = array->get(bottom);
    if (top == bottom) {  // the last one: who gets it?
      if (!top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        value = 0;
      bottom_.store(bottom + 1, std::memory_order_relaxed);
    }
    return value;
  }

  /// By any thread: the oldest; 0 where there is none.
  Value steal() {
    while (true) {
      std::int64_t top = top_.load(with_fences(std::memory_order_acquire));
      Atomics::fence();
      const std::int64_t bottom = bottom_.load(with_fences(std::memory_order_acquire));
      if (top >= bottom) return 0;
      Array* const array = array_.load(std::memory_order_acquire);
      const Value value = array->get(top);
      if (top_.compare_exchange_strong(top, top + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        return value;
    }
  }

  /// About how many there are, by any thread.
  std::size_t size_hint() const noexcept {
    const std::int64_t top = top_.load(std::memory_order_relaxed);
    const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
    return bottom > top ? static_cast<std::size_t>(bottom - top) : 0;
  }

 private:
  class Array {
   public:
    explicit Array(std::size_t capacity)
        : mask_(static_cast<std::int64_t>(capacity) - 1), values_(new Atomic<Value>[capacity]) {}
    std::int64_t capacity() const noexcept { return mask_ + 1; }
    Value get(std::int64_t i) const noexcept { return values_[i & mask_].load(std::memory_order_relaxed); }
    void put(std::int64_t i, Value value) noexcept {
      values_[i & mask_].store(value, std::memory_order_relaxed);
    }

   private:
    std::int64_t mask_;
    std::unique_ptr<Atomic<Value>[]> values_;
  };

  Array* grow(std::int64_t top, std::int64_t bottom) {
    Array* const old = array_.load(std::memory_order_relaxed);
    arrays_.push_back(std::make_unique<Array>(static_cast<std::size_t>(2 * old->capacity())));
    Array* const array = arrays_.back().get();
    for (std::int64_t i = top; i < bottom; ++i) array->put(i, old->get(i));
    array_.store(array, std::memory_order_release);
    return array;
  }

  // What the owner writes and what the thieves write on separate lines; processors fetch lines in pairs.
  alignas(128) Atomic<std::int64_t> bottom_{0};
  Atomic<Array*> array_{nullptr};
  std::int64_t known_top_ = 0;
  std::vector<std::unique_ptr<Array>> arrays_;
  alignas(128) Atomic<std::int64_t> top_{0};
};

using WorkStealingDeque = BasicWorkStealingDeque<StdAtomics>;

}  // namespace hocket::engine
