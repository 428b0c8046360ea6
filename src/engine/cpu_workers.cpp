// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_workers.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "engine/access_check.hpp"
#include "graph/datum.hpp"

namespace hocket::engine {

using detail::TaskNode;
using detail::TaskRef;

namespace {

void pin_to(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set,
                         &set);  // A wish: where it fails, the system places the thread.
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
    try {
      threads_.emplace_back([this, raw = slot.get()] { thread_main(raw); });
    } catch (const std::system_error& error) {
      throw Error(
          fmt::format("the thread of CPU worker {} of {} cannot be started: {}; ask for fewer workers "
                      "(RuntimeOptions::devices, HOCKET_DEVICES) or raise the limit of threads (ulimit -u)",
                      slot->position + 1, slots_.size(), error.what()));
    }
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
  // What is left in the queues are void entries: of tasks that were taken out of their turn.
  for (const auto& slot : slots_)
    while (const std::uint64_t entry = slot->own.steal()) detail::release_reference(task_of(entry));
  for (std::size_t i = 0; i < contexts_.count(); ++i)
    while (const std::uint64_t entry = contexts_[i].queue.take()) detail::release_reference(task_of(entry));
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
    // Acquire pairs with the release in `vacate`: the queue is as its last occupant left it. Release: thieves look into
    // the occupant's context.
    if (!slot.occupant.compare_exchange_strong(nobody, &here, std::memory_order_acq_rel,
                                               std::memory_order_relaxed))
      continue;
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

// ---- running ---------------------------------------------------------------------------------------------------------

/// A kernel in the task's own storage, on data wherever they are.
void CpuWorkers::call_one_off(TaskNode& task, std::span<const Argument> arguments) {
  std::vector<detail::HomeView> views(arguments.size());
  std::vector<const void*> pointers(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Buffer& buffer = arguments[i].buffer;
    views[i] = {buffer.memory, nullptr, buffer.shape, buffer.strides};
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
  Lifecycle::running(task, worker);
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
  lifecycle_.queue_ready(here, *next);
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

bool CpuWorkers::work(ThreadContext& here, const TaskNode* target, const std::function<bool()>& enough) {
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
  std::uint32_t entries = 0;
  while (entry != 0) {
    run_chain(here, entry);
    if (here.slot == nullptr || (target != nullptr && target->closed())) break;
    constexpr std::uint32_t kEntriesBetween = 16;
    if (enough && ++entries % kEntriesBetween == 0 && enough()) break;
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

// ---- threads ---------------------------------------------------------------------------------------------------------

void CpuWorkers::thread_main(WorkerSlot* preferred) {
  if (preferred->cpu) pin_to(*preferred->cpu);
  ThreadContext& here = contexts_.here();
  while (true) {
    // First: who lends a slot must not count on a thread that is about to be busy.
    threads_at_hand_.fetch_sub(1, std::memory_order_seq_cst);
    const bool occupies = occupy(preferred) != nullptr;
    if (!occupies) threads_at_hand_.fetch_add(1, std::memory_order_seq_cst);
    if (occupies) {
      // Several tasks may have become ready while one thread was on its way: it calls the next before it begins.
      if (sleepers_.has_waiters() && vacant_.load(std::memory_order_relaxed) != 0 && sees_several(here))
        wake_sleeper();
      work(here, nullptr, [&] { return decide_to_step_aside(here); });
      decide_to_step_aside(here);  // there may be but little to do each time
      threads_at_hand_.fetch_add(1, std::memory_order_seq_cst);
      vacate(here);
    }
    driver_.announce_if_idle();
    if (stopping_.load(std::memory_order_seq_cst)) return;
    idle(here);
    here.steps_aside = false;
  }
}

}  // namespace hocket::engine
