// SPDX-License-Identifier: Apache-2.0
/// Who may use the records of accesses (see graph/datum.hpp) without locking each datum. Mostly one thread submits: it
/// has the right alone, and pays two plain stores where it would pay an atomic exchange for each datum. Whoever else
/// submits withdraws the right first; from then on every thread locks, until one has been the only one for a while.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "engine/asymmetric_fence.hpp"
#include "engine/thread_context.hpp"

namespace hocket::engine {

class AccessRights {
 public:
  explicit AccessRights(ThreadContexts& contexts) noexcept : contexts_(contexts) {}
  AccessRights(const AccessRights&) = delete;
  AccessRights& operator=(const AccessRights&) = delete;

  /// While it lives, its thread uses the records: alone, or (`alone()` false) with a lock on each datum. No code of the
  /// user runs meanwhile, so that sections never nest.
  class Section {
   public:
    Section(AccessRights& rights, ThreadContext& here) : here_(here) {
      here.uses_accesses.store(true, std::memory_order_relaxed);
      light_fence();  // pairs with the heavy ones below: either this sees the change, or the other sees the use
      alone_ = rights.holder_.load(std::memory_order_acquire) == &here;
      if (!alone_) [[unlikely]]
        rights.share(here);
    }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    // Release: whoever sees the end sees what was done.
    ~Section() { here_.uses_accesses.store(false, std::memory_order_release); }

    bool alone() const noexcept { return alone_; }

   private:
    ThreadContext& here_;
    bool alone_;
  };

  /// For a thread outside of all sections that seems to be the only one that submits: the right becomes its own unless
  /// another thread has it or uses the records just now. Costs a system call where nobody has it.
  void claim(ThreadContext& here) {
    if (holder_.load(std::memory_order_relaxed) != nullptr) return;
    const std::lock_guard lock(mutex_);
    if (holder_.load(std::memory_order_relaxed) != nullptr) return;
    holder_.store(&here, std::memory_order_seq_cst);
    heavy_fence();
    // Who is inside may have come before that, and then relies on locks.
    for (std::size_t i = 0; i < contexts_.count(); ++i)
      if (contexts_[i].uses_accesses.load(std::memory_order_acquire)) {
        holder_.store(nullptr, std::memory_order_release);
        return;
      }
  }

 private:
  /// Until nobody has the right.
  void share(ThreadContext& here) {
    while (holder_.load(std::memory_order_acquire) != nullptr) {
      here.uses_accesses.store(false, std::memory_order_relaxed);  // who waits here must not be waited for
      withdraw();
      here.uses_accesses.store(true, std::memory_order_relaxed);
      light_fence();
    }
  }
  void withdraw() {
    const std::lock_guard lock(mutex_);
    const auto* const holder = static_cast<const ThreadContext*>(holder_.load(std::memory_order_relaxed));
    if (holder == nullptr) return;
    holder_.store(this, std::memory_order_seq_cst);
    heavy_fence();
    while (holder->uses_accesses.load(std::memory_order_acquire)) std::this_thread::yield();
    holder_.store(nullptr, std::memory_order_release);  // only now may others go ahead with locks
  }

  ThreadContexts& contexts_;
  /// A `ThreadContext`; null: everybody locks; this object: the right is being withdrawn.
  std::atomic<const void*> holder_{nullptr};
  std::mutex mutex_;  ///< Held while the right changes hands.
};

}  // namespace hocket::engine
