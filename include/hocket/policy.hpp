// SPDX-License-Identifier: Apache-2.0
/// Online scheduling policies: which worker takes which ready task. A policy sees numbers only: candidates with
/// predicted times and bytes; it knows no kernels, no threads and no clock.
///
/// The engine calls one policy object from many threads but never two calls at once. Tasks that only CPU
/// workers can run, whose data has never left the host's memory and which have no priority do not
/// come here: there is nothing to decide about them.
#pragma once

#include <cstdint>
#include <hocket/types.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// One thing that executes tasks: a CPU worker, or the queue of an asynchronous device.
enum class WorkerId : std::uint32_t {};

/// The engine's name for a ready task; a policy only hands it back.
enum class ReadyTaskId : std::uint64_t {};

/// A device that can run the task, with what it would cost.
struct Candidate {
  DeviceId device{};
  Seconds execution{};    ///< Predicted.
  Seconds transfer{};     ///< Predicted, to bring the operands that are missing there.
  Bytes missing{};        ///< Size of these operands.
  bool measured = false;  ///< The prediction rests on measurements rather than on nominal speeds.
};

struct ReadyTask {
  ReadyTaskId id{};
  int priority = 0;
  std::span<const Candidate> candidates;  ///< At least one, in order of device; valid during the call.
  std::optional<WorkerId> released_by;    ///< The worker whose task made this one ready.
};

/// What a policy may know of the machine.
struct PolicyMachine {
  std::vector<DeviceId> device_of_worker;  ///< Indexed by worker.
  std::uint32_t devices = 0;
};

/// Nothing but `start` may throw: these functions are called between a task's ends and beginnings, where nobody could
/// be told, and what they throw ends the program or loses the task.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  /// Called once before anything else.
  virtual void start(const PolicyMachine& machine) = 0;
  /// Takes a ready task. Returns the device where it has already been decided, so that the engine can start to
  /// bring the operands there; `pop` must then hand it to a worker of that device.
  virtual std::optional<DeviceId> push(const ReadyTask& task, Seconds now) = 0;
  /// A task for a worker, which is free now (or, for an asynchronous device, has room for one more), if there
  /// is one that its device can run.
  virtual std::optional<ReadyTaskId> pop(WorkerId worker, Seconds now) = 0;
  /// A task handed out by `pop` is over; `execution` is what it took.
  virtual void finished(ReadyTaskId task, WorkerId worker, Seconds execution, Seconds now) {
    (void)task, (void)worker, (void)execution, (void)now;
  }
};

/// Makes a policy by name: `eager` (one queue, first come first served, by priority), `ws` (work stealing: the
/// worker that makes a task ready keeps it; idle ones steal), `eft` (earliest finish time, counting
/// transfers, on measured history; as StarPU's dmda). Throws `InvalidArgument` that lists the names.
std::unique_ptr<Policy> make_policy(std::string_view name);
/// The names that `make_policy` knows.
std::vector<std::string> policy_names();

}  // namespace hocket
