// SPDX-License-Identifier: Apache-2.0
/// Cooperative threads for the tasklets of one emulated DPU: each runs on its own stack until it ends or
/// suspends itself, and all run on the thread that calls `run`. Stacks are kept from run to run; a body that
/// never suspends costs no switch at all. Works under AddressSanitizer and ThreadSanitizer.
///
/// A group is used by one thread at a time. Overrunning a stack (256 KiB) hits a guard page.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace hocket::dpu {

class FiberGroup {
 public:
  FiberGroup();
  ~FiberGroup();
  FiberGroup(const FiberGroup&) = delete;
  FiberGroup& operator=(const FiberGroup&) = delete;

  /// Runs `body(i)` for each i in [0, count), starting them in order. Returns true when all have ended, false
  /// when those left are suspended and nobody will wake them. `body` must not throw.
  bool run(unsigned count, std::function<void(unsigned)> body);
  /// After `run` or `run_on` returned false: goes on with what has been woken since. Same result.
  bool run_on();

  /// From inside a body: stops it until `wake` is called for it.
  void suspend();
  /// Makes a suspended body ready; it runs after those woken before it. Callable from bodies and between
  /// runs.
  void wake(unsigned index);

 private:
  struct Fiber;

  static void entry(unsigned first_half, unsigned second_half);
  void live(Fiber& fiber);
  void enter(Fiber& fiber);
  void leave(Fiber& fiber);

  std::function<void(unsigned)> body_;
  unsigned count_ = 0;
  unsigned next_ = 0;
  unsigned ended_ = 0;
  Fiber* current_ = nullptr;
  std::unique_ptr<Fiber> outside_;  // the context that called run
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Fiber*> suspended_;  // by body index; null while it runs or is ready
  std::deque<Fiber*> ready_;
};

}  // namespace hocket::dpu
