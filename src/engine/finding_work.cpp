// SPDX-License-Identifier: Apache-2.0
/// How the threads of `CpuWorkers` find work, and what those do that find none.
#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/cpu_workers.hpp"
#include "engine/ticks.hpp"

namespace hocket::engine {

using detail::TaskNode;
using detail::TaskRef;

namespace {

/// Tasks that their owner ends faster than this are left to it: taking one moves some cache lines between cores, which
/// costs about as much (142 to 475 ns for each round trip on the machines measured).
constexpr std::int64_t kTinyTaskNanoseconds = 400;
/// A judgement on how fast a queue moves needs that much time between two looks.
constexpr std::uint64_t kLeastSightNanoseconds = 1000;
/// How often the guard looks around, about a microsecond apart, before it sleeps.
constexpr int kGuardLooks = 16;
/// How long the guard sleeps, at first and at most, between two looks while there are unfinished tasks.
constexpr Seconds kFirstNap{25e-6};
constexpr Seconds kLongestNap{400e-6};

#if defined(__x86_64__)
void relax() noexcept { _mm_pause(); }
#else
void relax() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
#endif
/// A thread that makes tasks ready at longer distances (12 to 50 µs) can afford to wake another for each.
constexpr std::uint64_t kSlowPushTicks = 50000;

/// Kernels that take less on the average, a few hundred nanoseconds, are tiny: to run them beside the thread that submits
/// them, and with that pull the lines that it is about to write out of its cache, costs more than they do.
constexpr std::uint64_t kTinyKernelTicks = 1000;
/// How many tasks, and how many kernels timed, a judgement on that takes.
constexpr std::int64_t kTasksPerJudgement = 64;
constexpr std::uint32_t kTimingsPerJudgement = 4;

void pause_about_a_microsecond() noexcept {
  for (int i = 0; i < 48; ++i) relax();
}

}  // namespace

// ---- queues ----------------------------------------------------------------------------------------------------------

void CpuWorkers::queue(ThreadContext& here, TaskNode& task) { push_entry(here, entry_of(task)); }

void CpuWorkers::push_entry(ThreadContext& here, std::uint64_t entry) {
  if (here.slot != nullptr && here.slot->device == *lifecycle_.fast_device())
    here.slot->own.push(entry);
  else
    here.queue.push(entry);
  alert(here);
}

void CpuWorkers::alert(ThreadContext& here) {
  light_fence();  // pairs with the heavy one of a thread about to sleep: it sees the task, or this sees the thread
  const Guard guard = guard_.load(std::memory_order_relaxed);
  if (guard == Guard::Awake || guard == Guard::Coming) return;
  if (vacant_.load(std::memory_order_relaxed) == 0) {
    // Whoever vacates a slot next is to look around. What an occupant queues it finds itself.
    if (here.slot != nullptr || skipped_.load(std::memory_order_relaxed)) return;
    skipped_.store(true, std::memory_order_seq_cst);
    if (vacant_.load(std::memory_order_seq_cst) == 0) return;
  }
  if (guard == Guard::None && !sleepers_.has_waiters()) return;
  if (guard == Guard::Asleep || here.slot != nullptr) {
    constexpr std::uint32_t kLooks = 16;  // the clock costs some ten nanoseconds
    if (++here.pushes % kLooks != 0) return;
    const std::uint64_t now = ticks();
    // A longer distance than this says nothing of the present.
    constexpr std::uint64_t kLongAgoTicks = 20'000'000;
    const std::uint64_t distance = now - std::exchange(here.last_push, now);
    const bool slow = distance > kLooks * kSlowPushTicks && distance < kLongAgoTicks;
    if (!slow) return;  // who makes tasks so fast is best left alone; the guard looks again soon
  }
  if (guard == Guard::Asleep)
    guard_event_.notify_one();
  else
    wake_sleeper();
}

void CpuWorkers::wake_sleeper() {
  Guard none = Guard::None;
  if (!guard_.compare_exchange_strong(none, Guard::Coming, std::memory_order_seq_cst)) return;
  if (sleepers_.notify_one()) return;
  Guard coming = Guard::Coming;
  guard_.compare_exchange_strong(coming, Guard::None, std::memory_order_seq_cst);
}

void CpuWorkers::queue_present(TaskNode& task) {
  loading_.fetch_sub(1, std::memory_order_relaxed);
  const DeviceId device = task.extra().device;
  for (const auto& slot : slots_)
    if (slot->device == device) {
      slot->placed.push(task);
      break;
    }
  placed_.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

void CpuWorkers::wake() {
  policy_calls_.fetch_add(1, std::memory_order_seq_cst);
  guard_event_.notify_all();
  sleepers_.notify_all();
}

// ---- finding work ----------------------------------------------------------------------------------------------------

/// What is most urgent; then own work, newest first, for its warm data; then what this thread has submitted itself, in
/// its order; then placed tasks whose data has come; then what others have; then what the policy holds.
std::uint64_t CpuWorkers::find_work(ThreadContext& here) {
  WorkerSlot& slot = *here.slot;
  if (lifecycle_.holds_urgent(slot.device))
    if (TaskRef task = take_from_policy(slot)) return entry_of(*task.release());
  if (const std::uint64_t entry = slot.own.pop(); entry != 0) return entry;
  settle_light(here);
  here.policy_calls = policy_calls_.load(std::memory_order_seq_cst);
  if (here.queue.size_hint() != 0)
    if (const std::uint64_t entry = here.queue.take(); entry != 0) return entry;
  if (placed_.load(std::memory_order_seq_cst) != 0)
    for (const auto& other : slots_) {
      if (other->device != slot.device) continue;
      if (TaskRef task = other->placed.pop_oldest()) {
        placed_.fetch_sub(1, std::memory_order_relaxed);
        return entry_of(*task.release());
      }
    }
  if (const std::uint64_t entry = steal(here); entry != 0) return entry;
  if (TaskRef task = take_from_policy(slot)) return entry_of(*task.release());
  return 0;
}

std::uint64_t CpuWorkers::nanoseconds() const noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

/// `progress` counts what has gone into and out of the queue, or what its owner has run. At first sight the answer is no:
/// whether the queue moves takes a moment to see, and at the start of a burst of submissions it does.
bool CpuWorkers::worth_taking(Sight& sight, std::int64_t progress) const noexcept {
  const std::uint64_t now = nanoseconds();
  const std::uint64_t elapsed = now - sight.nanoseconds;
  const bool first = sight.nanoseconds == 0;
  if (!first && elapsed < kLeastSightNanoseconds) return sight.worth_taking;
  sight.worth_taking =
      !first && (progress - sight.progress) * kTinyTaskNanoseconds < static_cast<std::int64_t>(elapsed);
  sight.progress = progress;
  sight.nanoseconds = now;
  return sight.worth_taking;
}

/// Calls `visit(sight, progress, take)` for each queue of somebody else that is not empty, until it returns true.
template <class Function>
bool CpuWorkers::for_each_victim(ThreadContext& here, Function&& visit) {
  const std::optional<DeviceId> device = lifecycle_.fast_device();
  if (here.slot_sights.size() < slots_.size()) here.slot_sights.resize(slots_.size());
  const std::size_t first = here.slot != nullptr ? here.slot->position : 0;
  for (std::size_t i = 1; i <= slots_.size(); ++i) {
    WorkerSlot& victim = *slots_[(first + i) % slots_.size()];
    if (&victim == here.slot || victim.device != *device || victim.own.size_hint() == 0) continue;
    const ThreadContext* const occupant = victim.occupant.load(std::memory_order_acquire);
    const std::int64_t progress = occupant != nullptr ? occupant->executed.value() : kAbandoned;
    if (visit(here.slot_sights[victim.position], progress, [&] { return victim.own.steal(); })) return true;
  }
  const std::size_t contexts = contexts_.count();
  if (here.queue_sights.size() < contexts) here.queue_sights.resize(contexts);
  for (std::size_t i = 0; i < contexts; ++i) {
    ThreadContext& victim = contexts_[i];
    if (victim.queue.size_hint() == 0) continue;
    const auto progress = victim.submitted.value() + static_cast<std::int64_t>(victim.queue.taken());
    if (visit(here.queue_sights[i], progress, [&] { return victim.queue.take(); })) return true;
  }
  return false;
}

std::uint64_t CpuWorkers::steal(ThreadContext& here) {
  if (here.slot->device != lifecycle_.fast_device()) return 0;
  std::uint64_t found = 0;
  for_each_victim(here, [&](Sight& sight, std::int64_t progress, auto&& take) {
    if (progress != kAbandoned && !worth_taking(sight, progress)) return false;
    found = take();
    return found != 0;
  });
  return found;
}

bool CpuWorkers::sees_fast_work(ThreadContext& here, bool only_worthwhile) {
  if (!lifecycle_.fast_device()) return false;
  return for_each_victim(here, [&](Sight& sight, std::int64_t progress, auto&&) {
    return !only_worthwhile || progress == kAbandoned || worth_taking(sight, progress);
  });
}

/// Whether there is fast-lane work for more than one thread.
bool CpuWorkers::sees_several(ThreadContext& here) {
  std::size_t seen = here.slot->own.size_hint();
  for (const auto& slot : slots_)
    if (slot.get() != here.slot) seen += slot->own.size_hint();
  for (std::size_t i = 0; i < contexts_.count() && seen < 2; ++i) seen += contexts_[i].queue.size_hint();
  return seen >= 2;
}

TaskRef CpuWorkers::take_from_policy(WorkerSlot& slot) {
  // Tasks whose data is still on its way are no work yet; a few of them ahead hide the copies, more would keep them
  // from other devices.
  const std::uint32_t most_loading = 2 * static_cast<std::uint32_t>(slots_.size());
  while (loading_.load(std::memory_order_relaxed) < most_loading) {
    TaskRef task = lifecycle_.take(slot.device, slot.worker);
    if (!task) break;
    if (lifecycle_.refuse(*task)) continue;
    loading_.fetch_add(1, std::memory_order_relaxed);
    const Placing placing = lifecycle_.place(*task, slot.device);
    if (placing == Placing::Waiting) continue;  // `queue_present` counts it down
    loading_.fetch_sub(1, std::memory_order_relaxed);
    if (placing == Placing::Present) return task;
  }
  return {};
}

// ---- without work ----------------------------------------------------------------------------------------------------

void CpuWorkers::idle(ThreadContext& here) {
  const auto called = [&] {
    return policy_calls_.load(std::memory_order_seq_cst) != here.policy_calls ||
           stopping_.load(std::memory_order_seq_cst);
  };
  if (vacant_.load(std::memory_order_relaxed) != 0) {
    Guard before = guard_.load(std::memory_order_relaxed);
    if ((before == Guard::None || before == Guard::Coming) &&
        guard_.compare_exchange_strong(before, Guard::Awake, std::memory_order_seq_cst)) {
      const bool due = stand_guard(here);
      guard_.store(Guard::None, std::memory_order_seq_cst);
      if (due) return;
    }
  }
  const std::uint64_t ticket = sleepers_.prepare();
  heavy_fence();
  const bool vacant = vacant_.load(std::memory_order_seq_cst) != 0;
  if (!vacant) here.policy_calls = policy_calls_.load(std::memory_order_seq_cst);  // others see to it
  // Whoever is said to be coming may turn out to be nobody.
  const Guard guard = guard_.load(std::memory_order_seq_cst);
  const bool unguarded = guard == Guard::None || guard == Guard::Coming;
  if (called() || (vacant && unguarded && sees_fast_work(here, false)))
    sleepers_.cancel();
  else {
    sleepers_.wait(ticket);
    here.slot_sights.clear();  // of other times
    here.queue_sights.clear();
  }
  // Whoever has been called to stand guard looks for work first.
  Guard coming = Guard::Coming;
  guard_.compare_exchange_strong(coming, Guard::None, std::memory_order_seq_cst);
}

bool CpuWorkers::judge_kernels(ThreadContext& here) noexcept {
  const bool tiny = here.kernel_ticks < here.kernels_timed * kTinyKernelTicks;
  here.kernel_ticks /= 2;
  here.kernels_timed /= 2;
  return tiny;
}

/// For a worker, from time to time: whether it is in the way of a thread that submits tiny tasks, and for how long it
/// then makes room.
bool CpuWorkers::decide_to_step_aside(ThreadContext& here) {
  if (here.steps_aside) return true;
  const std::int64_t tasks = here.executed.value() - here.judged_executed;
  if (tasks < kTasksPerJudgement || here.kernels_timed < kTimingsPerJudgement) return false;
  const std::int64_t submitted = contexts_.sum(&ThreadContext::submitted);
  const bool tiny = here.kernel_ticks < here.kernels_timed * kTinyKernelTicks;
  const bool submits = submitted - here.judged_submitted > tasks / 4;
  here.kernel_ticks = 0;
  here.kernels_timed = 0;
  here.judged_executed = here.executed.value();
  here.judged_submitted = submitted;
  here.steps_aside = tiny && submits;
  here.step_aside =
      here.steps_aside ? std::min(std::max(here.step_aside * 2.0, kFirstNap), kLongestNap) : Seconds{};
  return here.steps_aside;
}

/// Until there is something to do (true), or nothing is left that could become something.
bool CpuWorkers::stand_guard(ThreadContext& here) {
  const bool steps_aside = std::exchange(here.steps_aside, false);
  bool aside = steps_aside;  // until its first nap is over, no task in the fast lane counts
  const auto due = [&] {
    return policy_calls_.load(std::memory_order_seq_cst) != here.policy_calls ||
           stopping_.load(std::memory_order_relaxed) || (!aside && sees_fast_work(here, true));
  };
  for (int look = 0; look < kGuardLooks && !aside; ++look) {
    if (due()) return true;
    pause_about_a_microsecond();
  }
  Seconds nap = steps_aside ? here.step_aside : kFirstNap;
  while (lifecycle_.outstanding() != 0 && vacant_.load(std::memory_order_relaxed) != 0) {
    const std::uint64_t ticket = guard_event_.prepare();
    guard_.store(Guard::Asleep, std::memory_order_seq_cst);
    if (due()) {
      guard_event_.cancel();
      return true;
    }
    const bool notified = guard_event_.wait_for(ticket, nap);
    guard_.store(Guard::Awake, std::memory_order_seq_cst);
    aside = false;
    if (notified) {  // by one whose tasks are not tiny
      const std::uint64_t now = nanoseconds();
      for (std::vector<Sight>* const sights : {&here.slot_sights, &here.queue_sights})
        for (Sight& sight : *sights) {
          sight.worth_taking = true;
          sight.nanoseconds = now;
        }
    }
    if (due()) return true;
    nap = std::min(nap * 2.0, kLongestNap);
  }
  return false;
}

}  // namespace hocket::engine
