// SPDX-License-Identifier: Apache-2.0
/// What the engine tells about each task and copy as it ends, and the report made of it. Totals are always
/// kept; single events only on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/report.hpp>
#include <hocket/types.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket::trace {

/// A task that ran to its end, in success or failure. The strings are only read during the call.
struct TaskRecord {
  TaskId id{};
  const std::string* name = nullptr;
  const std::string* codelet = nullptr;
  DeviceId device{};
  std::uint32_t worker = 0;  ///< Within the device.
  Seconds ready{};
  Seconds begin{};
  Seconds end{};
  std::optional<Seconds> modelled;
  double flops = 0.0;
  bool failed = false;
};

/// Sums over tasks that were not recorded one by one, since the last reset.
struct FastTotals {
  std::optional<DeviceId> device;
  std::uint64_t tasks = 0;
  double flops = 0.0;
  Seconds busy{};
  Seconds first_begin{std::numeric_limits<double>::infinity()};
  Seconds last_end{-std::numeric_limits<double>::infinity()};
};

/// A copy that is over. From a node to itself it is a conversion.
struct TransferRecord {
  const std::string* data = nullptr;
  MemoryNodeId from{};
  MemoryNodeId to{};
  Bytes bytes{};
  TransferReason reason = TransferReason::Fetch;
  Seconds begin{};
  Seconds end{};
};

/// Collects what happens. `describe_devices` comes first and once; everything else may be called by any
/// thread at any time. Recording takes one lock that only threads recording for the same worker (or link)
/// share: some 25 ns for the totals, and some hundred more where events are kept, which costs about 200 bytes
/// for each. A report being taken holds all those locks while it copies the totals, never while it copies
/// events.
class Recorder {
 public:
  /// `events`: keep each task and copy. `node_names`: the memory nodes' names by `MemoryNodeId`.
  Recorder(bool events, std::vector<std::string> node_names);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Whether single tasks are of no interest, only totals.
  bool lean() const noexcept { return !events_; }

  /// Says which devices there are and how many workers each has; totals in `devices` are ignored, but for
  /// `modelled`: where it is set, the report gives a modelled time even if no task has run.
  /// Throws `InvalidArgument` where two devices have the same id.
  void describe_devices(std::vector<DeviceReport> devices);

  /// Throws `InvalidArgument` for a device that was not described. A failed task counts in `failed` and in
  /// its device's `busy`, not in `tasks` nor `flops`. A worker beyond those described shares the place of
  /// another.
  void task(const TaskRecord& record);
  /// Throws `InvalidArgument` for a node without a name. A conversion within a node counts as a copy of that
  /// link, with its bytes, and as `TransferReason::Conversion`, but not in `Report::bytes_moved`.
  void transfer(const TransferRecord& record);
  /// Counts tasks that never ran.
  void cancelled(std::uint64_t count = 1);

  /// All that was recorded since the start or the last reset, as of one moment: each record is in it wholly
  /// (its counts and its event) or not at all. Links without a copy are left out, and conversions within a
  /// node come after them; events are in order of their begin.
  /// `fast` is added to it.
  Report take(Seconds now, std::string policy, const FastTotals& fast = {}) const;
  /// Starts a new period at `now`.
  void reset(Seconds now);

 private:
  class SpinLock;
  class AllLocks;
  template <class Item>
  class EventLog;
  struct WorkerSlot;
  struct LinkSlot;
  struct PeriodSlot;

  std::size_t worker_slots() const noexcept { return first_slot_.empty() ? 0 : first_slot_.back(); }
  std::size_t link_slots() const noexcept { return node_names_.size() * node_names_.size(); }

  // Fixed before the first record, hence read without a lock.
  const bool events_;
  const std::vector<std::string> node_names_;
  std::vector<DeviceReport> devices_;
  std::vector<std::size_t> position_;    // in devices_, by DeviceId
  std::vector<std::size_t> first_slot_;  // of each device, and one past the last slot of all

  std::unique_ptr<WorkerSlot[]> workers_;
  std::unique_ptr<LinkSlot[]> links_;  // [from * nodes + to]
  std::unique_ptr<PeriodSlot> period_;
};

}  // namespace hocket::trace
