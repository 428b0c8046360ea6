// SPDX-License-Identifier: Apache-2.0
/// Several flows of control in one thread, each with a stack of its own, that hand over to each other.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>

#include "support/sanitized.hpp"

#if defined(HOCKET_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HOCKET_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

// Jumps between stacks save two system calls each, but checked builds take them for a mistake.
#if !defined(HOCKET_ADDRESS_SANITIZER) && !defined(HOCKET_THREAD_SANITIZER) && !defined(_FORTIFY_SOURCE)
#define HOCKET_FIBERS_JUMP 1
#endif

namespace hocket::testing {

/// A stack of its own for a flow of control. Sanitizers are told of each switch.
class Fiber {
 public:
  /// The flow that calls this.
  Fiber() : entered_(true) {}
  Fiber(void (*entry)(), std::size_t stack_bytes) : stack_(new std::byte[stack_bytes]), bytes_(stack_bytes) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#if defined(HOCKET_THREAD_SANITIZER)
    thread_sanitizer_ = __tsan_create_fiber(0);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
#if defined(HOCKET_THREAD_SANITIZER)
    if (stack_) __tsan_destroy_fiber(thread_sanitizer_);
#endif
  }

  /// From this flow, the current one, to that; returns when something switches back.
  void switch_to(Fiber& other) {
#if defined(HOCKET_THREAD_SANITIZER)
    if (!stack_) thread_sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(other.thread_sanitizer_, 0);
#endif
#if defined(HOCKET_ADDRESS_SANITIZER)
    void* fake_stack = nullptr;
    const void* const base = other.stack_ ? other.stack_.get() : main_stack;
    __sanitizer_start_switch_fiber(&fake_stack, base, other.stack_ ? other.bytes_ : main_stack_bytes);
#endif
#if defined(HOCKET_FIBERS_JUMP)
    if (_setjmp(jump_) == 0) {
      if (other.entered_) _longjmp(other.jump_, 1);
      other.entered_ = true;
      setcontext(&other.context_);
    }
#else
    swapcontext(&context_, &other.context_);
#endif
#if defined(HOCKET_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  }

  /// First in the entry of a fiber.
  static void arrived() {
#if defined(HOCKET_ADDRESS_SANITIZER)
    const void* from = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &from, &bytes);
    if (main_stack == nullptr) {  // the first fiber is entered from the main flow
      main_stack = from;
      main_stack_bytes = bytes;
    }
#endif
  }

#if defined(HOCKET_ADDRESS_SANITIZER)
  inline static const void* main_stack = nullptr;
  inline static std::size_t main_stack_bytes = 0;
#endif

 private:
  ucontext_t context_{};
#if defined(HOCKET_FIBERS_JUMP)
  jmp_buf jump_{};
#endif
  [[maybe_unused]] bool entered_ = false;  ///< `context_` is used up
  std::unique_ptr<std::byte[]> stack_;
  [[maybe_unused]] std::size_t bytes_ = 0;
#if defined(HOCKET_THREAD_SANITIZER)
  void* thread_sanitizer_ = nullptr;
#endif
};

}  // namespace hocket::testing
