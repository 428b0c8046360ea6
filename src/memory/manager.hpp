// SPDX-License-Identifier: Apache-2.0
/// The memory manager: brings the operands of tasks to where they run, in the format that they need, and keeps
/// track of which replicas are valid.
///
/// It starts nothing itself: transfers that may begin are handed to a `TransferSink`, whose owner executes them and
/// calls `finish`. One lock guards all of it; nothing is called with the lock held but the sink's `start`,
/// `operands_present` and `room_made`, which only queue.
///
/// Invariants, for each part of a datum:
///  - it is valid in at least one replica, or loading from one that is pinned, or its contents do not matter
///    (written by a task that has been placed);
///  - while a task that writes it is placed, no other task that uses it is: the dependencies see to that, and
///    `acquire` waits for copies that are still reading or filling the part.
#pragma once

#include <atomic>
#include <cstdint>
#include <hocket/report.hpp>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "graph/datum.hpp"
#include "graph/task_node.hpp"
#include "memory/replicas.hpp"
#include "memory/routes.hpp"
#include "platform/machine.hpp"

namespace hocket::memory {

/// One copy (or conversion) of a box from one replica to another. Made and owned by the manager.
struct Transfer {
  detail::Datum* datum = nullptr;  ///< Counted reference.
  Replica* from = nullptr;         ///< Pinned, as is `to`.
  Replica* to = nullptr;
  Box box;                           ///< Within the datum.
  std::vector<std::uint32_t> parts;  ///< That make up the box, unless parts have been split since.
  std::uint32_t parts_then = 0;      ///< How many parts the datum had when `parts` was made.
  bool exact = true;                 ///< See `PartState::exact`.
  Hop hop;
  TransferReason reason = TransferReason::Fetch;
  Bytes bytes{};
  int priority = 0;                      ///< Of the task that asked first.
  std::uint32_t predecessors = 0;        ///< Transfers that fill `from` and are not over.
  std::vector<Transfer*> successors;     ///< Transfers that read what this one fills.
  std::vector<detail::TaskNode*> tasks;  ///< That wait for it.
  std::exception_ptr failure;            ///< Of a predecessor: not to be started.
};

/// Where the manager's decisions go. Called with the manager's lock held: queue and return.
class TransferSink {
 public:
  virtual ~TransferSink() = default;
  /// The transfer may begin now. `Manager::finish` must be called for it, from any thread, not from within.
  virtual void start(Transfer& transfer) = 0;
  /// The last copy that the task waited for is over (`transfer_failure` says whether they all succeeded).
  virtual void operands_present(detail::TaskNode& task) = 0;
  /// Room was made on a node where a task had found none.
  virtual void room_made(MemoryNodeId node) = 0;
};

enum class Acquisition : std::uint8_t {
  Present,  ///< All operands are there: run.
  Loading,  ///< Copies are under way; `operands_present` will follow.
  NoRoom,   ///< The node is full of what others use; nothing is held; `room_made` will follow.
};

class Manager {
 public:
  Manager(const platform::Machine& machine, TransferSink& sink);

  /// The replicas of a datum end with it.
  void detach(detail::Datum& datum) noexcept;
  /// The data that have ever been in a device's memory, or were asked for by tasks that were placed, each with a reference that the caller releases.
  std::vector<detail::Datum*> attached();
  /// Releases the replicas of every datum that still has some; nothing may run any more.
  void detach_all() noexcept;

  /// Binds the task's operands to replicas on the memory node of `device`, reserves room for all of them at once,
  /// starts the missing copies, and marks what it will write as valid there only. `formats` holds, for each
  /// operand, the format that the task's variant wants. Throws `OutOfMemory` where even an empty node
  /// would be too small.
  Acquisition acquire(detail::TaskNode& task, const DeviceInfo& device, std::span<const Format> formats);
  /// Unpins what `acquire` bound. After the task is over.
  void release(detail::TaskNode& task) noexcept;
  /// Starts the copies that `acquire` would, as far as there is free room, without reserving anything.
  void prefetch(detail::TaskNode& task, const DeviceInfo& device, std::span<const Format> formats);

  /// What `acquire` would have to bring.
  struct Missing {
    Bytes bytes{};
    Seconds seconds{};
  };
  Missing missing(detail::TaskNode& task, const DeviceInfo& device, std::span<const Format> formats);

  /// The room that the operands take on a device's node, were they alone.
  Bytes footprint(std::span<const detail::Operand> operands, const DeviceInfo& device,
                  std::span<const Format> formats) const;
  /// Whether a datum can be had in a format on a node (`reads`) and brought back from there (`writes`), and whether
  /// that may lose precision.
  struct Reachable {
    bool possible = true;
    bool lossy = false;
  };
  Reachable reachable(const detail::Datum& datum, const DeviceInfo& device, Format format, Access access);

  /// A started transfer is over.
  void finish(Transfer& transfer, const std::exception_ptr& failure);

  /// Whether no datum has ever had a replica but the one at home; see `Datum::host_only`.
  bool all_at_home() const noexcept { return all_at_home_.load(std::memory_order_relaxed); }

 private:
  struct Node {
    Bytes used{};
    std::vector<Replica*> allocated;  ///< That may be evicted: all but home replicas.
    bool wanted = false;              ///< Somebody found no room since the last `room_made`.
  };
  /// Who waits for a transfer; both null for a prefetch or an eviction.
  struct Waiter {
    detail::TaskNode* task = nullptr;
    Transfer* transfer = nullptr;
    TransferReason reason = TransferReason::Fetch;
    int priority = 0;
  };
  struct Source {
    Replica* replica = nullptr;
    const Route* route = nullptr;
    bool exact = true;
  };
  using Parts = std::vector<std::uint32_t>;

  /// Made at the first call: until then the only replica is the one at home, valid as a whole.
  DatumReplicas& replicas_of(detail::Datum& datum);
  Replica& replica_for(const detail::Operand& operand, MemoryNodeId node, Format format);
  bool allocate(Replica& replica, bool may_evict);
  bool make_room(MemoryNodeId node, Bytes needed);
  void free_block(Replica& replica) noexcept;
  void free_memory(Replica& replica) noexcept;
  void write_back(Replica& replica);
  bool clean(Replica& replica);
  void pin(Replica& replica) noexcept;
  void unpin(Replica& replica) noexcept;
  void rollback(detail::TaskNode& task) noexcept;

  /// Makes `parts` of the datum, which lie in `to`, valid there. `box` is the box that they make up exactly; null
  /// where they are scattered.
  void ensure(DatumReplicas& replicas, const Parts& parts, const Box* box, Replica& to, const Waiter& waiter);
  Source best_source(DatumReplicas& replicas, std::uint32_t part, const Replica& to);
  void add_transfer(DatumReplicas& replicas, Parts parts, const Box& box, Replica& to, const Source& source,
                    const Waiter& waiter);
  static void wait_for(Transfer& transfer, const Waiter& waiter);
  void own_for_writing(DatumReplicas& replicas, const detail::Operand& operand, detail::TaskNode& task);
  void settle(Transfer& transfer, const std::exception_ptr& failure, std::vector<detail::Datum*>& released);

  const platform::Machine& machine_;
  TransferSink& sink_;
  mutable std::mutex mutex_;
  Routes routes_;
  std::vector<Node> nodes_;
  std::unordered_set<detail::Datum*> attached_;
  std::uint64_t uses_ = 0;
  std::atomic<bool> all_at_home_{true};
};

}  // namespace hocket::memory
