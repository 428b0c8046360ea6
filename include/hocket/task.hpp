// SPDX-License-Identifier: Apache-2.0
/// Tasks: one submission of a codelet with its arguments.
#pragma once

#include <cstdint>
#include <hocket/source_location.hpp>
#include <hocket/types.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

namespace detail {
class TaskNode;
void add_reference(TaskNode* node) noexcept;
void release_reference(TaskNode* node) noexcept;
}  // namespace detail

/// Where a task is in its life.
enum class TaskState : std::uint8_t {
  Waiting,  ///< For the tasks that it depends on.
  Ready,    ///< For a device, memory or its operands.
  Running,
  Done,
  Failed,     ///< Its kernel threw, or its device failed.
  Cancelled,  ///< Never ran.
  Recorded,   ///< Part of a graph; each run of the graph makes a task of its own of it.
};

std::string_view to_string(TaskState state) noexcept;

/// A handle to a submitted task; copies name the same task. Empty when default-constructed. Any thread may use
/// a handle, but not one and the same object at once with a writer. It may outlive its runtime, but no thread may be
/// within `get`, `wait_for` or `cancel` when the destructor of the runtime begins.
///
/// To ask an empty handle anything but whether it is empty throws `InvalidArgument`.
class Task {
 public:
  Task() noexcept = default;
  explicit Task(detail::TaskNode* node) noexcept : node_(node) { detail::add_reference(node_); }
  /// Takes over a reference that the caller has.
  struct Adopt {};
  Task(detail::TaskNode* node, Adopt) noexcept : node_(node) {}
  Task(const Task& other) noexcept : node_(other.node_) { detail::add_reference(node_); }
  Task(Task&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Task& operator=(Task other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Task() { detail::release_reference(node_); }

  explicit operator bool() const noexcept { return node_ != nullptr; }

  TaskId id() const;
  /// The name that it was given, or that of its codelet, or the place of its submission.
  std::string name() const;
  TaskState state() const;

  /// Waits until the task is over. Throws `TaskError` where it failed or was cancelled, `InvalidArgument` for a task as
  /// recorded in a graph, and `Error` where the wait could never end: the caller is itself a task that this one waits
  /// for, or holds a view of data that it needs.
  /// A failure reported here is not reported again by `Runtime::wait()`.
  void get() const;
  /// Waits at most that long; returns whether the task is over. Throws as `get()` does once it is.
  bool wait_for(Seconds limit) const;
  /// The same for a `std::chrono::duration`.
  template <class Duration>
  requires requires(const Duration& limit) {
    limit.count();
    Duration::period::num / Duration::period::den;
  }
  bool wait_for(const Duration& limit) const {
    return wait_for(
        Seconds{static_cast<double>(limit.count()) * Duration::period::num / Duration::period::den});
  }
  /// Withdraws the task if it has not been given to a device yet, and with it those that depend on it; returns
  /// whether it did: never for a run of a graph. Never stops a running kernel. Throws `InvalidArgument` for a task as
  /// recorded in a graph.
  bool cancel() const;

  detail::TaskNode* node() const noexcept { return node_; }

 private:
  detail::TaskNode* node_ = nullptr;
};

/// What can be said of a task when it is submitted. All of it is optional.
struct TaskOptions {
  std::string name{};         ///< For messages and reports; the codelet's name where empty.
  int priority = 0;           ///< Of the ready tasks, those with the highest run first.
  std::vector<Task> after{};  ///< Runs only after these have succeeded, besides what its data demand.
  /// Where it may run: a device specification such as "opencl" or "cpu,pim" (kinds), or "opencl:1" (one device
  /// of a kind, by its number among them). Empty: anywhere that the codelet has a variant for.
  std::string on{};
  /// For messages; the place of the submission where it is not set. Its texts must live as long as the program.
  SourceLocation location{};
};

}  // namespace hocket
