// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_workers.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/access_check.hpp"
#include "graph/datum.hpp"

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
std::uint64_t ticks() noexcept { return __rdtsc(); }
void relax() noexcept { _mm_pause(); }
#else
std::uint64_t ticks() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
void relax() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
#endif
/// A thread that makes tasks ready at longer distances (10 to 25 µs) can afford to wake another for each.
constexpr std::uint64_t kSlowPushTicks = 50000;

void pause_about_a_microsecond() noexcept {
  for (int i = 0; i < 48; ++i) relax();
}

void pin_to(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set,
                         &set);  // A wish: where it fails, the system places the thread.
}

std::uint64_t entry_of(TaskNode& task) noexcept { return reinterpret_cast<std::uintptr_t>(&task); }
TaskNode* task_of(std::uint64_t entry) noexcept {
  return reinterpret_cast<TaskNode*>(
      static_cast<std::uintptr_t>(entry));  // NOLINT(performance-no-int-to-ptr)
}

void add_to(std::atomic<double>& total, double more) noexcept {  // one writer
  total.store(total.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

CpuWorkers::CpuWorkers(const platform::Machine& machine, Lifecycle& lifecycle, Driver& driver,
                       const detail::RunTable& runs, bool check, bool lean)
    : machine_(machine),
      lifecycle_(lifecycle),
      contexts_(lifecycle.contexts()),
      driver_(driver),
      runs_(runs),
      check_(check),
      lean_(lean) {
  std::uint32_t global = 0;
  for (const DeviceInfo& device : machine.devices()) {
    const DeviceProperties& properties = device.properties;
    if (properties.execution != Execution::CallingThread) {
      ++global;
      continue;
    }
    for (std::uint32_t i = 0; i < properties.concurrency; ++i) {
      auto slot = std::make_unique<WorkerSlot>();
      slot->device = device.id;
      slot->worker = i;
      slot->position = slots_.size();
      slot->global = global++;
      if (i < properties.worker_cpus.size()) slot->cpu = properties.worker_cpus[i];
      slots_.push_back(std::move(slot));
    }
  }
  vacant_.store(static_cast<std::uint32_t>(slots_.size()), std::memory_order_relaxed);
}

CpuWorkers::~CpuWorkers() { stop(); }

void CpuWorkers::start() {
  const std::lock_guard lock(threads_mutex_);
  for (const auto& slot : slots_) {
    threads_at_hand_.fetch_add(1, std::memory_order_relaxed);
    threads_.emplace_back([this, raw = slot.get()] { thread_main(raw); });
  }
}

void CpuWorkers::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(threads_mutex_);
    stopping_.store(true, std::memory_order_seq_cst);
    threads.swap(threads_);
  }
  guard_event_.notify_all();
  sleepers_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

std::optional<WorkerId> CpuWorkers::current_worker() const {
  const WorkerSlot* const slot = contexts_.here().slot;
  if (slot == nullptr) return std::nullopt;
  return WorkerId{slot->global};
}

// ---- slots -----------------------------------------------------------------------------------------------------------

WorkerSlot* CpuWorkers::occupy(WorkerSlot* preferred) {
  if (vacant_.load(std::memory_order_relaxed) == 0) return nullptr;
  ThreadContext& here = contexts_.here();
  const std::optional<DeviceId> device =
      preferred != nullptr ? std::optional(preferred->device) : lifecycle_.fast_device();
  if (!device) return nullptr;
  const std::size_t first = preferred != nullptr ? preferred->position : 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    WorkerSlot& slot = *slots_[(first + i) % slots_.size()];
    ThreadContext* nobody = nullptr;
    if (slot.device != *device || slot.occupant.load(std::memory_order_relaxed) != nullptr) continue;
    // Acquire pairs with the release in `vacate`: the queue is as its last occupant left it.
    if (!slot.occupant.compare_exchange_strong(nobody, &here, std::memory_order_acquire)) continue;
    vacant_.fetch_sub(1, std::memory_order_relaxed);
    here.slot = &slot;
    here.last_slot = &slot;
    here.worker = slot.worker;
    return &slot;
  }
  return nullptr;
}

void CpuWorkers::vacate(ThreadContext& here) {
  WorkerSlot* const slot = std::exchange(here.slot, nullptr);
  if (slot == nullptr) return;
  slot->occupant.store(nullptr, std::memory_order_release);
  vacant_.fetch_add(1, std::memory_order_seq_cst);
}

// ---- queues ----------------------------------------------------------------------------------------------------------

void CpuWorkers::queue(TaskNode& task) { push_entry(contexts_.here(), entry_of(task)); }

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
    const std::int64_t progress = occupant != nullptr ? occupant->executed.value() : 0;
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
    if (!worth_taking(sight, progress)) return false;
    found = take();
    return found != 0;
  });
  return found;
}

bool CpuWorkers::sees_fast_work(ThreadContext& here, bool only_worthwhile) {
  if (!lifecycle_.fast_device()) return false;
  return for_each_victim(here, [&](Sight& sight, std::int64_t progress, auto&&) {
    return !only_worthwhile || worth_taking(sight, progress);
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

// ---- running ---------------------------------------------------------------------------------------------------------

TaskNode* CpuWorkers::run_fast(ThreadContext& here, TaskNode& task) {
  task.state.store(TaskState::Running, std::memory_order_relaxed);
  const detail::TaskType& type = *task.type;
  TaskNode* const outer = std::exchange(here.task, &task);
  std::exception_ptr failure;
  try {
    const void* const kernel = type.one_off ? task.storage() : type.kernel;
    void* const* const regions = task.regions();
    if (type.operand_count == type.parameter_count) {
      type.run(kernel, regions);
    } else {
      constexpr std::size_t kFew = 16;
      std::array<const void*, kFew> few;
      std::vector<const void*> many;
      const void** arguments = few.data();
      if (type.parameter_count > kFew) {
        many.resize(type.parameter_count);
        arguments = many.data();
      }
      std::uint32_t next = 0;
      for (std::uint32_t i = 0; i < type.parameter_count; ++i)
        arguments[i] = type.parameters[i].is_data ? regions[next++] : task.storage() + type.scalar_offsets[i];
      type.run(kernel, arguments);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  here.task = outer;
  if (failure) {
    Outcome outcome;
    outcome.failure = failure;
    outcome.began = outcome.ended = driver_.now();
    return lifecycle_.finished(task, outcome, here.worker, true);
  }
  here.executed.add(1);
  if (!type.one_off && static_cast<const detail::PreparedCodelet&>(type).has_work)
    add_to(here.totals.flops, Lifecycle::work_of(task).flops);
  return lifecycle_.finished_fast(here, task);
}

/// A kernel in the task's own storage, on data wherever they are.
void CpuWorkers::call_one_off(TaskNode& task, std::span<const Argument> arguments) {
  std::vector<detail::HomeView> views(arguments.size());
  std::vector<const void*> pointers(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Buffer& buffer = arguments[i].buffer;
    views[i] = {buffer.memory, buffer.shape, buffer.strides};
    pointers[i] = arguments[i].parameter.is_data ? static_cast<const void*>(&views[i]) : arguments[i].scalar;
  }
  task.type->run(task.storage(), pointers.data());
}

/// Runs a task through the seam, and takes its time.
TaskNode* CpuWorkers::run_placed(ThreadContext& here, TaskNode& task, bool may_continue) {
  const bool fast = is_fast(task);
  if (fast) {
    task.materialise_operands();
  } else if (lifecycle_.refuse(task, true) || lifecycle_.fail_without_operands(task)) {
    return nullptr;
  }
  const DeviceId device = fast ? *lifecycle_.fast_device() : task.extra().device;
  const std::uint32_t worker = here.worker;
  Outcome outcome;
  outcome.began = driver_.now();
  lifecycle_.running(task, worker, outcome.began);
  TaskNode* const outer = std::exchange(here.task, &task);
  try {
    const std::vector<Argument> arguments = Lifecycle::arguments(task);
    std::optional<AccessCheck> check;
    if (check_) check.emplace(task, arguments);
    if (task.type->one_off) {
      call_one_off(task, arguments);
    } else {
      const Variant& variant = *Lifecycle::variant_for(task.core(), machine_.devices()[index(device)]);
      const EventHandle event = machine_.device(device).launch(LaneId{0}, variant, arguments);
      if (event) {
        if (event->failure()) std::rethrow_exception(event->failure());
        outcome.modelled = event->modelled();
      }
    }
    if (check) check->verify();
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  here.task = outer;
  outcome.ended = driver_.now();
  return lifecycle_.finished(task, outcome, worker, may_continue);
}

/// A task of the fast lane that is this thread's to run.
TaskNode* CpuWorkers::run_begun(ThreadContext& here, TaskNode& task, bool may_continue) {
  TaskNode* const next = lean_ ? run_fast(here, task) : run_placed(here, task, true);
  if (next == nullptr || may_continue) return next;
  queue(*next);
  return nullptr;
}

/// The hold on a placed task ends with the call.
TaskNode* CpuWorkers::run_any(ThreadContext& here, TaskNode& task, bool may_continue) {
  TaskNode* next = nullptr;
  if (is_fast(task)) {
    if (lifecycle_.begin_fast(task)) next = run_begun(here, task, may_continue);
  } else {
    const TaskRef reference = TaskRef::adopt(&task);
    next = run_placed(here, task, may_continue);
  }
  return next;
}

void CpuWorkers::run_chain(ThreadContext& here, std::uint64_t entry) {
  if (LightEntry::is(entry)) {
    run_light(here, entry);
    return;
  }
  settle_light(here);
  TaskNode* task = task_of(entry);
  while (task != nullptr) {
    task = run_any(here, *task, true);
    if (here.slot != nullptr || task == nullptr) continue;
    queue(*task);  // it has lost its slot while it waited
    return;
  }
}

bool CpuWorkers::work(ThreadContext& here, const TaskNode* target) {
  const auto find = [&] { return target != nullptr ? find_work_for(here, *target) : find_work(here); };
  std::uint64_t entry = find();
  if (entry == 0) return false;
  FastTotals& totals = here.totals;
  const double begin = driver_.now().count;
  const std::uint64_t period = contexts_.period.load(std::memory_order_relaxed);
  if (totals.period.load(std::memory_order_relaxed) != period) {
    totals.first_begin_seconds.store(begin, std::memory_order_relaxed);
    totals.period.store(period, std::memory_order_release);
  }
  totals.burst_begin_seconds.store(begin, std::memory_order_relaxed);
  const std::int64_t executed = here.executed.value();
  while (entry != 0) {
    run_chain(here, entry);
    if (here.slot == nullptr || (target != nullptr && target->closed())) break;
    entry = find();
  }
  settle_light(here);
  const double end = driver_.now().count;
  totals.burst_begin_seconds.store(-1.0, std::memory_order_relaxed);
  if (here.executed.value() != executed) {
    add_to(totals.busy_seconds, end - begin);
    totals.last_end_seconds.store(end, std::memory_order_relaxed);
  }
  return true;
}

bool CpuWorkers::try_run_child(const TaskNode& parent, const TaskNode& target) {
  ThreadContext& here = contexts_.here();
  if (here.slot == nullptr) return false;
  const auto needed = [&](std::uint64_t entry) {
    if (LightEntry::is(entry)) return false;
    return &target == &parent ? task_of(entry)->parent() == &parent : leads_to(entry, target);
  };
  constexpr std::size_t kMostLooks = 8;
  std::array<std::uint64_t, kMostLooks> passed_over;
  std::size_t count = 0;
  std::uint64_t found = 0;
  while (count < kMostLooks && found == 0) {
    const std::uint64_t entry = here.slot->own.pop();
    if (entry == 0) break;
    if (needed(entry))
      found = entry;
    else
      passed_over[count++] = entry;
  }
  while (count > 0) here.slot->own.push(passed_over[--count]);
  if (found == 0) return false;
  run_any(here, *task_of(found), false);
  return true;
}

bool CpuWorkers::try_run_inside(TaskNode& task) {
  ThreadContext& here = contexts_.here();
  // Having lent its slot does not keep a waiting thread from what it waits for.
  if (here.last_slot == nullptr) return false;
  WorkerSlot& slot = *here.last_slot;
  const TaskRef reference(&task);
  if (task.state.load(std::memory_order_seq_cst) != TaskState::Ready || task.kind != detail::TaskKind::Kernel)
    return false;
  if (is_fast(task)) {
    if (slot.device != lifecycle_.fast_device() || !lifecycle_.take_out_of_queue(task)) return false;
    if (!lifecycle_.refuse_taken(task)) run_begun(here, task, false);
    return true;
  }
  if (lifecycle_.take_out_of_turn(task, slot.device, slot.worker)) {
    if (lifecycle_.refuse(task)) return true;
    loading_.fetch_add(1, std::memory_order_relaxed);
    const Placing placing = lifecycle_.place(task, slot.device);
    if (placing == Placing::Waiting) return false;  // `queue_present` counts it down
    loading_.fetch_sub(1, std::memory_order_relaxed);
    if (placing == Placing::Over) return true;
  } else {
    const bool taken = std::any_of(slots_.begin(), slots_.end(), [&](const auto& other) {
      return other->device == slot.device && other->placed.remove(task);
    });
    if (!taken) return false;
    placed_.fetch_sub(1, std::memory_order_relaxed);
  }
  TaskNode* const next = run_placed(here, task, false);
  if (next != nullptr) queue(*next);
  return true;
}

std::uint64_t CpuWorkers::find_work_for(ThreadContext& here, const TaskNode& target) {
  // What has become ready meanwhile, newest first; then what this thread has submitted, in its order. What is not
  // needed goes to the end of the latter.
  constexpr int kMostLooks = 16;
  bool put_back = false;
  for (int look = 0; look < kMostLooks; ++look) {
    std::uint64_t entry = here.slot->own.pop();
    if (entry == 0) {
      settle_light(here);
      if (target.closed() || here.queue.size_hint() == 0) return 0;
      entry = here.queue.take();
      if (entry == 0) return 0;
    }
    if (leads_to(entry, target)) {
      if (put_back) call_others();  // who looked meanwhile did not see what had been taken out
      return entry;
    }
    here.queue.push(entry);
    put_back = true;
  }
  settle_light(here);
  return 0;
}

/// Whether `target` waits for the task of an entry that nobody else has, as far as that is easily seen.
bool CpuWorkers::leads_to(std::uint64_t entry, const TaskNode& target) const {
  if (LightEntry::is(entry)) return runs_[LightEntry(entry).run()].end.get() == &target;
  // Forward along the edges. Tasks that wait for one that nobody runs stay where they are.
  constexpr std::size_t kMostTasks = 32;
  std::array<const TaskNode*, kMostTasks> seen;
  std::size_t count = 0;
  seen[count++] = task_of(entry);
  for (std::size_t i = 0; i < count; ++i) {
    if (seen[i] == &target) return true;
    std::uintptr_t edge = seen[i]->successors.load(std::memory_order_acquire);
    for (; edge != 0 && edge != detail::kClosed && count < kMostTasks; edge = detail::edge_word(edge)) {
      const TaskNode* const head = &detail::edge_head(edge);
      if (std::find(seen.begin(), seen.begin() + count, head) == seen.begin() + count) seen[count++] = head;
    }
  }
  return false;
}

bool CpuWorkers::take_part(const TaskNode* target) {
  ThreadContext& here = contexts_.here();
  if (here.slot != nullptr || occupy(nullptr) == nullptr) return false;
  const bool ran = work(here, target);
  const bool left = here.slot != nullptr && here.slot->own.size_hint() != 0;
  vacate(here);
  // Who looked for a vacant slot meanwhile found none.
  if (left || here.queue.size_hint() != 0 || placed_.load(std::memory_order_seq_cst) != 0 ||
      lifecycle_.policy_holds_tasks()) {
    call_someone();
  } else if (skipped_.load(std::memory_order_seq_cst)) {
    skipped_.store(false, std::memory_order_seq_cst);
    call_others();
  }
  return ran;
}

void CpuWorkers::call_someone() {
  guard_event_.notify_one();
  wake_sleeper();
}

/// Sees to it that what is left is looked at, if anything is.
void CpuWorkers::call_others() {
  heavy_fence();
  if (sees_fast_work(contexts_.here(), false)) call_someone();
}

// ---- threads ---------------------------------------------------------------------------------------------------------

void CpuWorkers::thread_main(WorkerSlot* preferred) {
  if (preferred->cpu) pin_to(*preferred->cpu);
  ThreadContext& here = contexts_.here();
  while (true) {
    if (occupy(preferred) != nullptr) {
      threads_at_hand_.fetch_sub(1, std::memory_order_seq_cst);
      // Several tasks may have become ready while one thread was on its way: it calls the next before it begins.
      if (sleepers_.has_waiters() && vacant_.load(std::memory_order_relaxed) != 0 && sees_several(here))
        wake_sleeper();
      work(here, nullptr);
      threads_at_hand_.fetch_add(1, std::memory_order_seq_cst);
      vacate(here);
    }
    driver_.announce_if_idle();
    if (stopping_.load(std::memory_order_seq_cst)) return;
    idle(here);
  }
}

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

/// Until there is something to do (true), or nothing is left that could become something.
bool CpuWorkers::stand_guard(ThreadContext& here) {
  const auto due = [&] {
    return policy_calls_.load(std::memory_order_seq_cst) != here.policy_calls ||
           stopping_.load(std::memory_order_relaxed) || sees_fast_work(here, true);
  };
  for (int look = 0; look < kGuardLooks; ++look) {
    if (due()) return true;
    pause_about_a_microsecond();
  }
  Seconds nap = kFirstNap;
  while (lifecycle_.outstanding() != 0 && vacant_.load(std::memory_order_relaxed) != 0) {
    const std::uint64_t ticket = guard_event_.prepare();
    guard_.store(Guard::Asleep, std::memory_order_seq_cst);
    if (due()) {
      guard_event_.cancel();
      return true;
    }
    const bool notified = guard_event_.wait_for(ticket, nap);
    guard_.store(Guard::Awake, std::memory_order_seq_cst);
    if (notified) {  // by one whose tasks are not tiny
      for (Sight& sight : here.slot_sights) sight.worth_taking = true, sight.nanoseconds = nanoseconds();
      for (Sight& sight : here.queue_sights) sight.worth_taking = true, sight.nanoseconds = nanoseconds();
    }
    if (due()) return true;
    nap = std::min(nap * 2.0, kLongestNap);
  }
  return false;
}

// ---- waiting inside a task ----------------------------------------------------------------------------------------------

WorkerSlot* CpuWorkers::lend_slot() {
  ThreadContext& here = contexts_.here();
  WorkerSlot* const slot = here.slot;
  if (slot == nullptr) return nullptr;
  vacate(here);
  bool spawn = false;
  {
    const std::lock_guard lock(threads_mutex_);
    spawn =
        threads_at_hand_.load(std::memory_order_seq_cst) == 0 && !stopping_.load(std::memory_order_relaxed);
    if (spawn) {
      threads_at_hand_.fetch_add(1, std::memory_order_relaxed);
      threads_.emplace_back([this, slot] { thread_main(slot); });
    }
  }
  if (!spawn) wake();
  return slot;
}

void CpuWorkers::resume(WorkerSlot* slot) {
  if (slot != nullptr) occupy(slot);
}

}  // namespace hocket::engine
