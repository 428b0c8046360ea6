// SPDX-License-Identifier: Apache-2.0
/// A first-in-first-out queue with one producer and any number of consumers, without locks. Arrays that were outgrown
/// are kept until destruction: consumers may still read them.
///
/// As in a work-stealing deque whose owner never pops (see work_stealing_deque.hpp), the head only grows, so a consumer
/// whose exchange of it succeeds has read the right value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/atomics.hpp"

namespace hocket::engine {

/// Values are any but 0, which stands for none.
template <class Atomics>
class BasicSubmissionQueue {
 public:
  using Value = std::uint64_t;
  template <class T>
  using Atomic = typename Atomics::template Atomic<T>;

  explicit BasicSubmissionQueue(std::size_t capacity = 64) {
    arrays_.push_back(std::make_unique<Array>(capacity));
    array_.store(arrays_.back().get(), std::memory_order_relaxed);
  }
  BasicSubmissionQueue(const BasicSubmissionQueue&) = delete;
  BasicSubmissionQueue& operator=(const BasicSubmissionQueue&) = delete;

  /// By the producer. Throws `std::bad_alloc`, without effect.
  void push(Value value) {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    Array* array = array_.load(std::memory_order_relaxed);
    if (tail - known_head_ >= array->capacity()) {
      known_head_ = head_.load(std::memory_order_acquire);
      if (tail - known_head_ >= array->capacity()) array = grow(known_head_, tail);
    }
    array->put(tail, value);
    // Release: who sees the new tail sees the value, and what the producer did before.
    tail_.store(tail + 1, std::memory_order_release);
  }

  /// By any thread: the oldest; 0 where there is none.
  Value take() {
    while (true) {
      std::uint64_t head = head_.load(std::memory_order_acquire);
      const std::uint64_t tail = tail_.load(std::memory_order_acquire);
      if (head >= tail) return 0;
      // The array that this tail belongs to, or a later one: each holds every value from its making on.
      const Array* const array = array_.load(std::memory_order_acquire);
      const Value value = array->get(head);
      // Release: the producer that sees the new head may use the place again.
      if (head_.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
        return value;
    }
  }

  /// About how many there are, by any thread.
  std::size_t size_hint() const noexcept {
    const std::uint64_t head = taken();
    const std::uint64_t tail = pushed();
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }
  /// How many have ever been pushed and taken.
  std::uint64_t pushed() const noexcept { return tail_.load(std::memory_order_relaxed); }
  std::uint64_t taken() const noexcept { return head_.load(std::memory_order_relaxed); }

 private:
  class Array {
   public:
    explicit Array(std::size_t capacity) : mask_(capacity - 1), values_(new Atomic<Value>[capacity]) {}
    std::uint64_t capacity() const noexcept { return mask_ + 1; }
    Value get(std::uint64_t i) const noexcept { return values_[i & mask_].load(std::memory_order_relaxed); }
    void put(std::uint64_t i, Value value) noexcept {
      values_[i & mask_].store(value, std::memory_order_relaxed);
    }

   private:
    std::uint64_t mask_;
    std::unique_ptr<Atomic<Value>[]> values_;
  };

  Array* grow(std::uint64_t head, std::uint64_t tail) {
    Array* const old = array_.load(std::memory_order_relaxed);
    arrays_.push_back(std::make_unique<Array>(2 * old->capacity()));
    Array* const array = arrays_.back().get();
    for (std::uint64_t i = head; i < tail; ++i) array->put(i, old->get(i));
    array_.store(array, std::memory_order_release);
    return array;
  }

  // What the producer writes and what the consumers write on separate lines; processors fetch lines in pairs.
  alignas(128) Atomic<std::uint64_t> tail_{0};
  Atomic<Array*> array_{nullptr};
  std::uint64_t known_head_ = 0;
  std::vector<std::unique_ptr<Array>> arrays_;
  alignas(128) Atomic<std::uint64_t> head_{0};
};

using SubmissionQueue = BasicSubmissionQueue<StdAtomics>;

}  // namespace hocket::engine
