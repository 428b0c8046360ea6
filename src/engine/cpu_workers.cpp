// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu_workers.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "engine/access_check.hpp"

namespace hocket::engine {

using detail::TaskNode;
using detail::TaskRef;

struct CpuWorkers::Slot {
  CpuWorkers* owner = nullptr;
  DeviceId device{};
  std::uint32_t worker = 0;  ///< Within the device.
  std::uint32_t global = 0;  ///< Among all workers of the policy.
  std::size_t position = 0;  ///< Among the slots.
  std::optional<std::uint32_t> cpu;
  ReadyQueue own;    ///< Made ready by this worker.
  ReadyQueue inbox;  ///< From other threads: fast-lane tasks and those whose operands have come.
  /// Grows when the slot changes hands; a thread works in it while its own number is current.
  std::atomic<std::uint64_t> tenancy{0};
};

namespace {

// What this thread is; set by `thread_main` and friends, restored by nested runs.
thread_local CpuWorkers::Slot* this_slot = nullptr;
thread_local TaskNode* this_task = nullptr;
thread_local std::uint64_t this_tenancy = 0;

void pin_to(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set,
                         &set);  // A wish: where it fails, the system places the thread.
}

}  // namespace

CpuWorkers::CpuWorkers(const platform::Machine& machine, Lifecycle& lifecycle, Driver& driver, bool check)
    : machine_(machine), lifecycle_(lifecycle), driver_(driver), check_(check) {
  std::uint32_t global = 0;
  for (const DeviceInfo& device : machine.devices()) {
    const DeviceProperties& properties = device.properties;
    if (properties.execution != Execution::CallingThread) {
      ++global;
      continue;
    }
    for (std::uint32_t i = 0; i < properties.concurrency; ++i) {
      auto slot = std::make_unique<Slot>();
      slot->owner = this;
      slot->device = device.id;
      slot->worker = i;
      slot->position = slots_.size();
      slot->global = global++;
      if (i < properties.worker_cpus.size()) slot->cpu = properties.worker_cpus[i];
      one_device_ = one_device_ && (slots_.empty() || slots_.front()->device == device.id);
      slots_.push_back(std::move(slot));
    }
  }
}

CpuWorkers::~CpuWorkers() { stop(); }

void CpuWorkers::start() {
  const std::lock_guard lock(spare_mutex_);
  for (const auto& slot : slots_) threads_.emplace_back([this, raw = slot.get()] { thread_main(raw); });
}

void CpuWorkers::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(spare_mutex_);
    stopping_.store(true, std::memory_order_seq_cst);
    threads.swap(threads_);
  }
  events_.notify_all();
  spare_wakeup_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

CpuWorkers::Slot* CpuWorkers::current_slot() noexcept { return this_slot; }
TaskNode* CpuWorkers::current_task() noexcept { return this_task; }

std::optional<WorkerId> CpuWorkers::current_worker() const noexcept {
  if (this_slot == nullptr || this_slot->owner != this) return std::nullopt;
  return WorkerId{this_slot->global};
}

void CpuWorkers::queue(TaskNode& task) {
  Slot* const mine = this_slot;
  if (mine != nullptr && mine->owner == this && mine->device == task.device) {
    mine->own.push(task);
  } else {
    for (const auto& slot : slots_)
      if (slot->device == task.device) {
        slot->inbox.push(task);
        break;
      }
  }
  wake_one();
}

void CpuWorkers::queue_present(TaskNode& task) {
  loading_.fetch_sub(1, std::memory_order_relaxed);
  for (const auto& slot : slots_)
    if (slot->device == task.device) {
      slot->inbox.push(task);
      break;
    }
  wake_one();
}

void CpuWorkers::wake() { events_.notify_all(); }

void CpuWorkers::wake_one() {
  // A worker of another device would go back to sleep and leave the task alone.
  if (one_device_)
    events_.notify_one();
  else
    events_.notify_all();
}

/// Own work first, newest first, for its warm data; then what came from outside, in its order; then what the policy
/// holds; then the oldest of another worker of the same device.
TaskRef CpuWorkers::find_work(Slot& slot) {
  const auto usable = [&](TaskRef task) -> TaskRef {
    // In a queue of its own, a task is claimed already if it was placed, and not if it took the fast lane.
    if (task && task->fast && !Lifecycle::claim(*task)) return {};
    return task;
  };
  if (lifecycle_.holds_urgent(slot.device))
    if (TaskRef task = take_from_policy(slot)) return task;
  while (TaskRef task = slot.own.pop_newest())
    if (TaskRef found = usable(std::move(task))) return found;
  for (const auto& other : slots_) {
    if (other->device != slot.device) continue;
    while (TaskRef task = other->inbox.pop_oldest())
      if (TaskRef found = usable(std::move(task))) return found;
  }
  if (TaskRef task = take_from_policy(slot)) return task;
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot& victim = *slots_[(slot.position + i) % slots_.size()];
    if (victim.device != slot.device || &victim == &slot) continue;
    while (TaskRef task = victim.own.pop_oldest())
      if (TaskRef found = usable(std::move(task))) return found;
  }
  return {};
}

TaskRef CpuWorkers::take_from_policy(Slot& slot) {
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

TaskRef CpuWorkers::run_one(Slot& slot, TaskNode& task, bool may_continue) {
  if (lifecycle_.refuse(task, true) || lifecycle_.fail_without_operands(task)) return {};
  // In the fast lane it is so already, and the one who queues the task may still be reading it.
  if (task.device != slot.device) task.device = slot.device;
  Outcome outcome;
  outcome.began = driver_.now();
  lifecycle_.running(task, slot.worker, outcome.began);
  TaskNode* const outer = std::exchange(this_task, &task);
  try {
    const std::vector<Argument> arguments = Lifecycle::arguments(task);
    const Variant& variant = *Lifecycle::variant_for(*task.codelet, machine_.devices()[index(slot.device)]);
    std::optional<AccessCheck> check;
    if (check_) check.emplace(task, arguments);
    const EventHandle event = machine_.device(slot.device).launch(LaneId{0}, variant, arguments);
    if (event) {
      if (event->failure()) std::rethrow_exception(event->failure());
      outcome.modelled = event->modelled();
    }
    if (check) check->verify();
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  this_task = outer;
  outcome.ended = driver_.now();
  return lifecycle_.finished(task, outcome, may_continue);
}

void CpuWorkers::run_chain(Slot& slot, TaskRef task) {
  while (task) {
    TaskRef next = run_one(slot, *task, true);
    task = std::move(next);
  }
}

bool CpuWorkers::try_run_inside(TaskNode& task) {
  Slot& slot = *this_slot;
  const TaskRef reference(&task);
  if (task.state.load(std::memory_order_seq_cst) != TaskState::Ready) return false;
  if (task.fast) {
    const bool ours = (task.eligible >> index(slot.device) & 1) != 0;  // one device, in the fast lane
    if (!ours || !Lifecycle::claim(task)) return false;
  } else if (lifecycle_.take_out_of_turn(task, slot.device, slot.worker)) {
    if (lifecycle_.refuse(task)) return true;
    loading_.fetch_add(1, std::memory_order_relaxed);
    const Placing placing = lifecycle_.place(task, slot.device);
    if (placing == Placing::Waiting) return false;  // `queue_present` counts it down
    loading_.fetch_sub(1, std::memory_order_relaxed);
    if (placing == Placing::Over) return true;
  } else {
    const bool taken = std::any_of(slots_.begin(), slots_.end(), [&](const auto& other) {
      return other->device == slot.device && other->inbox.remove(task);
    });
    if (!taken) return false;
  }
  run_one(slot, task, false);
  return true;
}

void CpuWorkers::work(Slot& slot) {
  const auto mine = [&] { return slot.tenancy.load(std::memory_order_acquire) == this_tenancy; };
  while (mine()) {
    if (TaskRef task = find_work(slot)) {
      run_chain(slot, std::move(task));
      continue;
    }
    const std::uint64_t ticket = events_.prepare();
    if (TaskRef task = find_work(slot)) {
      events_.cancel();
      run_chain(slot, std::move(task));
      continue;
    }
    if (!mine() || stopping_.load(std::memory_order_seq_cst)) {
      events_.cancel();
      return;
    }
    events_.wait(ticket);
    // A thread that has lost its slot meanwhile passes the notification on.
    if (!mine()) wake_one();
  }
}

void CpuWorkers::thread_main(Slot* slot) {
  if (slot->cpu) pin_to(*slot->cpu);
  this_slot = slot;
  this_tenancy = 0;
  work(*slot);
  this_slot = nullptr;
  // Another thread, which waited in a task, has come back to the slot; or everything stops.
  spare_main();
}

// ---- waiting inside a task ----------------------------------------------------------------------------------------

void CpuWorkers::lend_slot() {
  Slot* const slot = this_slot;
  const std::uint64_t tenancy = slot->tenancy.fetch_add(1, std::memory_order_acq_rel) + 1;
  const std::lock_guard lock(spare_mutex_);
  lent_.push_back({slot, tenancy});
  if (idle_spares_ >= lent_.size()) {
    spare_wakeup_.notify_one();
  } else if (!stopping_.load(std::memory_order_relaxed)) {
    threads_.emplace_back([this] { spare_main(); });
  }
}

void CpuWorkers::resume() {
  Slot* const slot = this_slot;
  // Whoever works in the slot leaves it after its current task; until then both share its queues, which are safe for
  // that.
  this_tenancy = slot->tenancy.fetch_add(1, std::memory_order_acq_rel) + 1;
  {
    const std::lock_guard lock(spare_mutex_);
    std::erase_if(lent_, [&](const Lent& lent) { return lent.slot == slot; });
  }
  events_.notify_all();
}

void CpuWorkers::spare_main() {
  std::unique_lock lock(spare_mutex_);
  while (true) {
    ++idle_spares_;
    spare_wakeup_.wait(lock, [&] { return !lent_.empty() || stopping_.load(std::memory_order_relaxed); });
    --idle_spares_;
    if (lent_.empty()) return;
    const auto [slot, tenancy] = lent_.back();
    lent_.pop_back();
    lock.unlock();
    if (slot->cpu) pin_to(*slot->cpu);
    this_slot = slot;
    this_tenancy = tenancy;
    work(*slot);
    this_slot = nullptr;
    lock.lock();
  }
}

}  // namespace hocket::engine
