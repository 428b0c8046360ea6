// SPDX-License-Identifier: Apache-2.0
/// The codelets that one engine has met, each prepared once: how to call it, where its arguments lie, which devices can
/// run it whatever the data. A thread finds those that it used lately without a lock.
///
/// A prepared codelet keeps its codelet (with what its kernels have captured) until nobody but the engine holds it and
/// no task of it is left; then `reap` lets go of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/thread_context.hpp"
#include "platform/machine.hpp"

namespace hocket::engine {

class Codelets {
 public:
  explicit Codelets(const platform::Machine& machine) : machine_(machine) {}
  Codelets(const Codelets&) = delete;
  Codelets& operator=(const Codelets&) = delete;

  /// Any thread; `here` is its context.
  detail::PreparedCodelet& find(ThreadContext& here, const ThreadContexts& contexts,
                                const std::shared_ptr<const detail::CodeletCore>& core) {
    ThreadContext::CachedCodelet& cached = here.codelets[core->serial % ThreadContext::kCachedCodelets];
    if (cached.serial == core->serial) return *cached.prepared;
    cached = {core->serial, &find_or_prepare(contexts, core)};
    return *cached.prepared;
  }

  /// Lets go of codelets that are no longer used. Any thread. What they captured is destroyed by the caller.
  void reap(const ThreadContexts& contexts);
  /// The runtime ends, nothing runs any more.
  void release_all();

 private:
  detail::PreparedCodelet& find_or_prepare(const ThreadContexts& contexts,
                                           const std::shared_ptr<const detail::CodeletCore>& core);

  const platform::Machine& machine_;
  std::mutex mutex_;                                                       ///< Guards the members below.
  std::unordered_map<std::uint64_t, detail::PreparedCodelet*> by_serial_;  ///< Those whose codelet lives.
  std::vector<std::unique_ptr<detail::PreparedCodelet>> all_;              ///< By number.
  std::vector<std::uint32_t> unused_numbers_;
};

}  // namespace hocket::engine
