// SPDX-License-Identifier: Apache-2.0
#include "trace/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <hocket/error.hpp>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace hocket::trace {
namespace {

// Two cache lines: processors fetch them in pairs.
constexpr std::size_t kSeparation = 128;
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

struct TaskTotals {
  std::uint64_t tasks = 0;
  std::uint64_t failed = 0;
  Seconds busy{};
  std::optional<Seconds> modelled;
  double flops = 0.0;
  Seconds first_begin{std::numeric_limits<double>::infinity()};
  Seconds last_end{-std::numeric_limits<double>::infinity()};
};

struct LinkTotals {
  Bytes bytes{};
  std::uint64_t copies = 0;
  Seconds busy{};
};

}  // namespace

// Held for a few counters at a time, and by one thread only except while a report is taken: so it is nearly
// always free, and waiting by yielding is cheaper than a mutex. A report holds every one of them at once,
// which can be more mutexes than ThreadSanitizer follows.
class Recorder::SpinLock {
 public:
  void lock() noexcept {
    // Acquire pairs with the release in unlock(): the holder before has left its counters complete.
    while (held_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

// Events in blocks that are never moved nor changed once written. A reader that has taken the block list and
// the size under the lock may therefore read those events after it has let go of the lock.
template <class Item>
class Recorder::EventLog {
 public:
  void add(Item&& item) {
    if (size_ == blocks_.size() * kBlockSize) blocks_.push_back(std::make_shared<Block>());
    (*blocks_.back())[size_ % kBlockSize] = std::move(item);
    ++size_;
  }
  void append_to(std::vector<Item>& all) const {
    for (std::size_t i = 0; i < size_; ++i) all.push_back((*blocks_[i / kBlockSize])[i % kBlockSize]);
  }
  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t kBlockSize = 128;
  using Block = std::array<Item, kBlockSize>;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::size_t size_ = 0;
};

struct alignas(kSeparation) Recorder::WorkerSlot {
  mutable SpinLock lock;  // protects the rest
  TaskTotals totals;
  EventLog<TaskEvent> events;
};

struct alignas(kSeparation) Recorder::LinkSlot {
  mutable SpinLock lock;  // protects the rest
  LinkTotals totals;
  EventLog<TransferEvent> events;
};

struct alignas(kSeparation) Recorder::PeriodSlot {
  mutable SpinLock lock;  // protects the rest
  Seconds begin{};
  std::uint64_t cancelled = 0;
};

// Every lock of a recorder. Always taken in the same order; who records holds only one, so nobody waits in a
// circle.
class Recorder::AllLocks {
 public:
  explicit AllLocks(const Recorder& recorder) : recorder_(recorder) {
    recorder_.period_->lock.lock();
    for (std::size_t i = 0; i < recorder_.worker_slots(); ++i) recorder_.workers_[i].lock.lock();
    for (std::size_t i = 0; i < recorder_.link_slots(); ++i) recorder_.links_[i].lock.lock();
  }
  ~AllLocks() {
    for (std::size_t i = recorder_.link_slots(); i-- > 0;) recorder_.links_[i].lock.unlock();
    for (std::size_t i = recorder_.worker_slots(); i-- > 0;) recorder_.workers_[i].lock.unlock();
    recorder_.period_->lock.unlock();
  }
  AllLocks(const AllLocks&) = delete;
  AllLocks& operator=(const AllLocks&) = delete;

 private:
  const Recorder& recorder_;
};

Recorder::Recorder(bool events, std::vector<std::string> node_names)
    : events_(events),
      node_names_(std::move(node_names)),
      links_(std::make_unique<LinkSlot[]>(node_names_.size() * node_names_.size())),
      period_(std::make_unique<PeriodSlot>()) {}

Recorder::~Recorder() = default;

void Recorder::describe_devices(std::vector<DeviceReport> devices) {
  devices_ = std::move(devices);
  position_.clear();
  first_slot_.assign(1, 0);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    DeviceReport& device = devices_[i];
    device.workers = std::max(device.workers, 1u);
    device.tasks = 0;
    device.busy = {};
    device.flops = 0.0;
    if (device.modelled) device.modelled = Seconds{};
    if (index(device.id) >= position_.size()) position_.resize(index(device.id) + 1, kNowhere);
    if (position_[index(device.id)] != kNowhere)
      throw InvalidArgument(
          fmt::format("recorder: the devices \"{}\" and \"{}\" both have the id {}; number them",
                      devices_[position_[index(device.id)]].name, device.name, index(device.id)));
    position_[index(device.id)] = i;
    first_slot_.push_back(first_slot_.back() + device.workers);
  }
  workers_ = std::make_unique<WorkerSlot[]>(worker_slots());
}

void Recorder::task(const TaskRecord& record) {
  const std::size_t device =
      index(record.device) < position_.size() ? position_[index(record.device)] : kNowhere;
  if (device == kNowhere)
    throw InvalidArgument(
        fmt::format("recorder: task {} ran on device {}, which was not described; pass it to "
                    "describe_devices()",
                    index(record.id), index(record.device)));
  TaskEvent event;
  if (events_)  // the strings are copied before the lock is taken
    event = {record.id,
             record.name != nullptr ? *record.name : std::string{},
             record.codelet != nullptr ? *record.codelet : std::string{},
             record.device,
             record.worker,
             record.ready,
             record.begin,
             record.end,
             record.modelled,
             record.failed};

  WorkerSlot& slot = workers_[first_slot_[device] + record.worker % devices_[device].workers];
  const std::lock_guard hold(slot.lock);
  // The event first: should memory run out, the totals still agree with the events.
  if (events_) slot.events.add(std::move(event));
  TaskTotals& totals = slot.totals;
  if (record.failed) {
    ++totals.failed;
  } else {
    ++totals.tasks;
    totals.flops += record.flops;
  }
  totals.busy += record.end - record.begin;
  if (record.modelled) totals.modelled = totals.modelled.value_or(Seconds{}) + *record.modelled;
  totals.first_begin = std::min(totals.first_begin, record.begin);
  totals.last_end = std::max(totals.last_end, record.end);
}

void Recorder::transfer(const TransferRecord& record) {
  const std::size_t from = index(record.from);
  const std::size_t to = index(record.to);
  if (std::max(from, to) >= node_names_.size())
    throw InvalidArgument(
        fmt::format("recorder: a copy from memory node {} to {}, but only {} have names; name all "
                    "nodes when the recorder is made",
                    from, to, node_names_.size()));
  TransferEvent event;
  if (events_)
    event = {record.data != nullptr ? *record.data : std::string{},
             node_names_[from],
             node_names_[to],
             record.bytes,
             from == to ? TransferReason::Conversion : record.reason,
             record.begin,
             record.end};

  LinkSlot& slot = links_[from * node_names_.size() + to];
  const std::lock_guard hold(slot.lock);
  if (events_) slot.events.add(std::move(event));
  slot.totals.bytes += record.bytes;
  ++slot.totals.copies;
  slot.totals.busy += record.end - record.begin;
}

void Recorder::cancelled(std::uint64_t count) {
  const std::lock_guard hold(period_->lock);
  period_->cancelled += count;
}

Report Recorder::take(Seconds now, std::string policy, const FastTotals& fast) const {
  Report report;
  report.end = now;
  report.policy = std::move(policy);
  report.devices = devices_;
  std::vector<TaskTotals> task_totals(worker_slots());
  std::vector<LinkTotals> link_totals(link_slots());
  std::vector<EventLog<TaskEvent>> task_logs(worker_slots());
  std::vector<EventLog<TransferEvent>> transfer_logs(link_slots());
  {
    const AllLocks hold(*this);
    report.begin = period_->begin;
    report.cancelled = period_->cancelled;
    for (std::size_t i = 0; i < task_totals.size(); ++i) {
      task_totals[i] = workers_[i].totals;
      task_logs[i] = workers_[i].events;
    }
    for (std::size_t i = 0; i < link_totals.size(); ++i) {
      link_totals[i] = links_[i].totals;
      transfer_logs[i] = links_[i].events;
    }
  }

  TaskTotals all;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    DeviceReport& device = report.devices[d];
    for (std::size_t i = first_slot_[d]; i < first_slot_[d + 1]; ++i) {
      const TaskTotals& part = task_totals[i];
      device.tasks += part.tasks;
      device.busy += part.busy;
      device.flops += part.flops;
      if (part.modelled) device.modelled = device.modelled.value_or(Seconds{}) + *part.modelled;
      report.failed += part.failed;
      all.first_begin = std::min(all.first_begin, part.first_begin);
      all.last_end = std::max(all.last_end, part.last_end);
    }
    if (fast.device == device.id) {
      device.tasks += fast.tasks;
      device.busy += fast.busy;
      device.flops += fast.flops;
      all.first_begin = std::min(all.first_begin, fast.first_begin);
      all.last_end = std::max(all.last_end, fast.last_end);
    }
    report.tasks += device.tasks;
    report.flops += device.flops;
  }
  // A task may have begun before the period that it ended in.
  if (all.last_end >= all.first_begin)
    report.makespan = std::max(Seconds{}, all.last_end - std::max(all.first_begin, report.begin));

  const std::size_t nodes = node_names_.size();
  for (const bool within : {false, true}) {
    for (std::size_t i = 0; i < link_totals.size(); ++i) {
      const LinkTotals& link = link_totals[i];
      if (link.copies == 0 || (i / nodes == i % nodes) != within) continue;
      report.links.push_back(
          {node_names_[i / nodes], node_names_[i % nodes], link.bytes, link.copies, link.busy});
      if (!within) report.bytes_moved += link.bytes;
    }
  }

  const auto gather = [](const auto& logs, auto& events) {
    std::size_t size = 0;
    for (const auto& log : logs) size += log.size();
    events.reserve(size);
    for (const auto& log : logs) log.append_to(events);
    std::stable_sort(events.begin(), events.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
  };
  gather(task_logs, report.task_events);
  gather(transfer_logs, report.transfer_events);
  return report;
}

void Recorder::reset(Seconds now) {
  // Swapped out under the locks, freed after them.
  std::vector<EventLog<TaskEvent>> task_logs(worker_slots());
  std::vector<EventLog<TransferEvent>> transfer_logs(link_slots());
  const AllLocks hold(*this);
  period_->begin = now;
  period_->cancelled = 0;
  for (std::size_t i = 0; i < task_logs.size(); ++i) {
    workers_[i].totals = {};
    std::swap(workers_[i].events, task_logs[i]);
  }
  for (std::size_t i = 0; i < transfer_logs.size(); ++i) {
    links_[i].totals = {};
    std::swap(links_[i].events, transfer_logs[i]);
  }
}

}  // namespace hocket::trace
