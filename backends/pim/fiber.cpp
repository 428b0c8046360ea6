// SPDX-License-Identifier: Apache-2.0
#include "pim/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <hocket/error.hpp>
#include <string>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOCKET_PIM_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define HOCKET_PIM_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HOCKET_PIM_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HOCKET_PIM_THREAD_SANITIZER 1
#endif

#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HOCKET_PIM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace hocket::dpu {
namespace {

#if defined(HOCKET_PIM_ADDRESS_SANITIZER) || defined(HOCKET_PIM_THREAD_SANITIZER)
constexpr std::size_t kStackBytes = std::size_t{1} << 20;  // instrumented frames are several times larger
#else
constexpr std::size_t kStackBytes = std::size_t{256} << 10;
#endif

/// A stack with a guard page below it.
class Stack {
 public:
  Stack() : guard_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* base = ::mmap(nullptr, guard_bytes_ + kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) {
      throw DeviceError("pim: no memory for the stack of a tasklet (" + std::to_string(kStackBytes) +
                        " bytes): " + std::strerror(errno) +
                        "; use fewer PIM devices or raise the memory limit");
    }
    base_ = static_cast<std::byte*>(base);
    ::mprotect(base_, guard_bytes_, PROT_NONE);
  }
  ~Stack() {
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
    ASAN_UNPOISON_MEMORY_REGION(bottom(), kStackBytes);  // the next owner of these addresses starts clean
#endif
    ::munmap(base_, guard_bytes_ + kStackBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  std::byte* bottom() const noexcept { return base_ + guard_bytes_; }

 private:
  std::size_t guard_bytes_;
  std::byte* base_ = nullptr;
};

/// The C++ runtime keeps the exceptions in flight per thread; fibers that suspend inside a catch block would
/// mix them up, so each fiber carries its own (the layout is part of the Itanium C++ ABI).
struct ExceptionState {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

void exchange_exception_state(ExceptionState& save_to, const ExceptionState& load_from) noexcept {
  auto* state = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
  std::memcpy(&save_to.caught, state, sizeof(void*));
  std::memcpy(&save_to.uncaught, state + sizeof(void*), sizeof(unsigned));
  std::memcpy(state, &load_from.caught, sizeof(void*));
  std::memcpy(state + sizeof(void*), &load_from.uncaught, sizeof(unsigned));
}

}  // namespace

struct FiberGroup::Fiber {
  ucontext_t context{};
  std::unique_ptr<Stack> stack;  // none for the context that called run
  ExceptionState exceptions;
  unsigned body = 0;  // index of the body that it runs
  // What the sanitizers know of this context; unused without them.
  void* fake_stack = nullptr;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* thread_sanitizer_fiber = nullptr;

#if defined(HOCKET_PIM_THREAD_SANITIZER)
  ~Fiber() {
    if (stack) __tsan_destroy_fiber(thread_sanitizer_fiber);
  }
#endif
};

FiberGroup::FiberGroup() : outside_(std::make_unique<Fiber>()) {}

FiberGroup::~FiberGroup() = default;

bool FiberGroup::run(unsigned count, std::function<void(unsigned)> body) {
  assert(ended_ == count_ && "the previous run must have ended");
  body_ = std::move(body);
  count_ = count;
  next_ = 0;
  ended_ = 0;
  suspended_.assign(count, nullptr);
  return run_on();
}

bool FiberGroup::run_on() {
  while (!ready_.empty() || next_ < count_) {
    if (!ready_.empty()) {
      Fiber* fiber = ready_.front();
      ready_.pop_front();
      enter(*fiber);
      continue;
    }
    if (idle_.empty()) {
      auto fiber = std::make_unique<Fiber>();
      fiber->stack = std::make_unique<Stack>();
      fiber->stack_bottom = fiber->stack->bottom();
      fiber->stack_bytes = kStackBytes;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push  // g++ 12 takes the context that getcontext fills for one that it reads
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
      ::getcontext(&fiber->context);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
      fiber->context.uc_stack.ss_sp = fiber->stack->bottom();
      fiber->context.uc_stack.ss_size = kStackBytes;
      fiber->context.uc_link = nullptr;
      const auto self = std::bit_cast<std::array<unsigned, 2>>(this);  // makecontext passes ints only
      ::makecontext(&fiber->context, reinterpret_cast<void (*)()>(&FiberGroup::entry), 2, self[0], self[1]);
#if defined(HOCKET_PIM_THREAD_SANITIZER)
      fiber->thread_sanitizer_fiber = __tsan_create_fiber(0);
#endif
      idle_.push_back(fiber.get());
      fibers_.push_back(std::move(fiber));
    }
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    enter(*fiber);
  }
  return ended_ == count_;
}

void FiberGroup::entry(unsigned first_half, unsigned second_half) {
  auto* group = std::bit_cast<FiberGroup*>(std::array<unsigned, 2>{first_half, second_half});
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(nullptr, &group->outside_->stack_bottom, &group->outside_->stack_bytes);
#endif
  group->live(*group->current_);
}

/// A fiber's life: it runs bodies one after another, so that bodies that never suspend share one fiber, and
/// rests when none is left to start.
void FiberGroup::live(Fiber& fiber) {
  for (;;) {
    while (next_ < count_) {
      fiber.body = next_++;
      body_(fiber.body);
      ++ended_;
    }
    idle_.push_back(&fiber);
    leave(fiber);
  }
}

void FiberGroup::suspend() {
  Fiber& fiber = *current_;
  suspended_[fiber.body] = &fiber;
  leave(fiber);
}

void FiberGroup::wake(unsigned index) {
  assert(suspended_[index] != nullptr);
  ready_.push_back(std::exchange(suspended_[index], nullptr));
}

void FiberGroup::enter(Fiber& fiber) {
  current_ = &fiber;
  exchange_exception_state(outside_->exceptions, fiber.exceptions);
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&outside_->fake_stack, fiber.stack_bottom, fiber.stack_bytes);
#endif
#if defined(HOCKET_PIM_THREAD_SANITIZER)
  outside_->thread_sanitizer_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.thread_sanitizer_fiber, 0);
#endif
  ::swapcontext(&outside_->context, &fiber.context);
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(outside_->fake_stack, nullptr, nullptr);
#endif
  current_ = nullptr;
}

void FiberGroup::leave(Fiber& fiber) {
  exchange_exception_state(fiber.exceptions, outside_->exceptions);
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&fiber.fake_stack, outside_->stack_bottom, outside_->stack_bytes);
#endif
#if defined(HOCKET_PIM_THREAD_SANITIZER)
  __tsan_switch_to_fiber(outside_->thread_sanitizer_fiber, 0);
#endif
  ::swapcontext(&fiber.context, &outside_->context);
#if defined(HOCKET_PIM_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &outside_->stack_bottom, &outside_->stack_bytes);
#endif
}

}  // namespace hocket::dpu
