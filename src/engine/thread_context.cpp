// SPDX-License-Identifier: Apache-2.0
#include "engine/thread_context.hpp"

#include <algorithm>
#include <hocket/error.hpp>

namespace hocket::engine {

/// The contexts that a thread has; gives them back when the thread ends.
struct ThreadContexts::Registrations {
  struct Entry {
    std::shared_ptr<ThreadContexts> owner;
    ThreadContext* context;
  };
  std::vector<Entry> entries;

  ~Registrations() {
    gone_ = true;
    current_ = {};
    graph::current_cache() = {};
    for (const Entry& entry : entries) {
      entry.context->blocks.flush();
      const std::lock_guard lock(entry.owner->mutex_);
      entry.owner->unused_.push_back(entry.context);
    }
  }
};

constinit thread_local ThreadContexts::Current ThreadContexts::current_;
constinit thread_local bool ThreadContexts::gone_ = false;
thread_local ThreadContexts::Registrations ThreadContexts::registrations_;

ThreadContexts::ThreadContexts(graph::BlockPool& pool) : pool_(pool), serial_(pool.serial()) {}

ThreadContexts::~ThreadContexts() {
  for (const auto& chunk : chunks_) {
    Chunk* const contexts = chunk.load(std::memory_order_relaxed);
    if (contexts == nullptr) continue;
    for (const auto& context : contexts->contexts) delete context.load(std::memory_order_relaxed);
    delete contexts;
  }
}

ThreadContext& ThreadContexts::find() {
  ThreadContext* context = nullptr;
  if (!gone_) {
    auto& entries = registrations_.entries;
    std::erase_if(entries, [](const auto& entry) {
      const std::lock_guard lock(entry.owner->mutex_);
      if (entry.owner->closed_) entry.context->blocks.flush();
      return entry.owner->closed_;
    });
    for (const auto& entry : entries)
      if (entry.owner.get() == this) context = entry.context;
  }
  if (context == nullptr) {
    const std::lock_guard lock(mutex_);
    if (!unused_.empty()) {
      context = unused_.back();
      unused_.pop_back();
    } else {
      const std::size_t number = count_.load(std::memory_order_relaxed);
      if (number == kChunk * kChunks)
        throw Error("more than 65,536 threads use one runtime at once; let some of them end");
      auto& place = chunks_[number / kChunk];
      if (place.load(std::memory_order_relaxed) == nullptr) place.store(new Chunk, std::memory_order_release);
      context = new ThreadContext(pool_);
      place.load(std::memory_order_relaxed)
          ->contexts[number % kChunk]
          .store(context, std::memory_order_release);
      count_.store(number + 1, std::memory_order_release);
    }
    if (gone_)
      late_.push_back(context);
    else
      registrations_.entries.push_back({shared_from_this(), context});
  }
  current_ = {serial_, context};
  graph::current_cache() = {serial_, &context->blocks, context->codelet_users.data()};
  return *context;
}

void ThreadContexts::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (ThreadContext* context : late_) context->blocks.flush();
  if (current_.serial != serial_) return;
  current_.context->blocks.flush();
  current_ = {};
  graph::current_cache() = {};
}

std::int64_t ThreadContexts::sum(Counter ThreadContext::*counter) const noexcept {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count(); ++i) total += ((*this)[i].*counter).value();
  return total;
}

std::int64_t ThreadContexts::codelet_users(std::uint32_t number) const noexcept {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count(); ++i) total += (*this)[i].codelet_users[number].value();
  return total;
}

}  // namespace hocket::engine
