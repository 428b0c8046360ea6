// SPDX-License-Identifier: Apache-2.0
/// The runtime: devices, data, submission, waiting, reports.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <hocket/backend.hpp>
#include <hocket/data.hpp>
#include <hocket/graph.hpp>
#include <hocket/policy.hpp>
#include <hocket/report.hpp>
#include <hocket/submit.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hocket {

/// How a runtime is set up. A member left at its default takes the environment variable named with it, if that is
/// set; what is given here wins.
struct RuntimeOptions {
  /// Which devices, for example "cpu:2,opencl,pim:64": kinds separated by commas, each with what its backend makes
  /// of the part after the colon. "none" for no device at all. Default (HOCKET_DEVICES): the CPU's
  /// cores and every other real device; emulated devices and OpenCL on the CPU only where they are named.
  std::string devices{};
  /// Scheduling policy by name (HOCKET_POLICY): `eager`, `ws` or `eft`. Default: `ws` where all devices
  /// compute in the host's memory, else `eft`.
  std::string policy{};
  /// A policy of the user's own instead.
  std::function<std::unique_ptr<Policy>()> custom_policy{};
  /// Limits on device memory (HOCKET_MEMORY), for example "opencl=256MiB,pim=8MiB"; plain numbers are bytes.
  std::string memory{};
  /// Keeps every task and copy for the report (HOCKET_TRACE=1).
  std::optional<bool> trace{};
  /// Checked mode (HOCKET_CHECK=1): finds kernels that write what they declared read-only, at the cost of a
  /// checksum of each operand before and after the kernel.
  std::optional<bool> check{};
  /// How many tasks may be in flight (HOCKET_WINDOW) before a thread that submits more runs some of them itself, or waits
  /// for those who do; 0: any number. It goes on once half of them are over, or where none is over for some
  /// milliseconds. A task must then not wait for what that thread does later. Default: 16,384, some 2 MB, which stay in a
  /// core's cache. Threads outside of tasks only: a task that submits is never held back.
  std::optional<std::size_t> window{};
  /// Backends besides the built-in ones; `devices` refers to them by `Backend::kind()`.
  std::vector<std::shared_ptr<Backend>> backends{};
};

/// A device of a runtime.
struct DeviceInfo {
  DeviceId id{};
  std::string label;  ///< Kind and number among its kind: "opencl:0".
  DeviceProperties properties;
  MemoryNodeId memory_node{};
};

/// Why a task ran where it did (or will run).
struct Explanation {
  struct Option {
    DeviceId device{};
    std::string label;
    bool eligible = false;
    std::string reason;  ///< Why it is not eligible, or what its estimate rests on.
    Seconds predicted_execution{};
    Seconds predicted_transfer{};
    Bytes missing{};
  };
  std::string task;
  std::string decided_by;  ///< The policy, the plan, or "fast lane".
  std::optional<DeviceId> device;
  std::optional<Seconds> actual_execution;
  std::vector<Option> options;
};

namespace detail {

class Engine;

template <class T>
inline constexpr bool kIsSpan = false;
template <class T, std::size_t Extent>
inline constexpr bool kIsSpan<std::span<T, Extent>> = true;
/// A container of contiguous elements, other than a span.
template <class Container>
inline constexpr bool kContiguous =
    !kIsSpan<std::remove_cvref_t<Container>> && requires(Container & container) {
  std::span(container);
};

/// Access to data from the program itself, as the core sees it.
struct HostAccessGrant {
  TaskNode* task = nullptr;
  void* memory = nullptr;
  Shape shape;
  Strides strides{};
};

/// Waits until the host may use the data and returns where it lies. Throws `TaskError` where a task that was to
/// produce it failed.
HostAccessGrant begin_host_access(Engine& engine, const DataHandle& handle, Access access);
void end_host_access(const HostAccessGrant& grant) noexcept;

}  // namespace detail

/// Access to data from the program, for as long as it lives: tasks that would conflict wait. Movable, not
/// copyable. A `HostView<const T>` may be read while tasks read too; a `HostView<T>` is exclusive.
template <class T, std::size_t Rank = 1>
class HostView : public View<T, Rank> {
 public:
  explicit HostView(const detail::HostAccessGrant& grant, detail::DataHandle handle)
      : View<T, Rank>(static_cast<T*>(grant.memory), first(grant.shape.extent), first(grant.strides)),
        grant_(grant),
        handle_(std::move(handle)) {}
  HostView(HostView&& other) noexcept
      : View<T, Rank>(other), grant_(std::exchange(other.grant_, {})), handle_(std::move(other.handle_)) {}
  HostView& operator=(HostView&&) = delete;
  HostView(const HostView&) = delete;
  HostView& operator=(const HostView&) = delete;
  ~HostView() {
    if (grant_.task != nullptr) detail::end_host_access(grant_);
  }

 private:
  static std::array<std::size_t, Rank> first(const std::array<std::size_t, kMaxRank>& all) noexcept {
    std::array<std::size_t, Rank> some{};
    for (std::size_t d = 0; d < Rank; ++d) some[d] = all[d];
    return some;
  }
  detail::HostAccessGrant grant_;
  detail::DataHandle handle_;
};

/// A runtime owns its devices and worker threads. Several may exist at once. All members may be called by any
/// thread, and, but for the constructor and destructor, by tasks. No other thread may be within a call of it, or of one
/// of its tasks' handles, when the destructor begins.
class Runtime final : public Submitter {
 public:
  /// Opens the devices and starts the workers. Throws `InvalidArgument` for a device specification, policy or
  /// limit that cannot be understood or met, with what would be.
  explicit Runtime(const RuntimeOptions& options = {});
  /// Waits for everything that was submitted and brings borrowed data back. A failure that nobody asked about is
  /// logged.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // ---- data ----------------------------------------------------------------------------------------------

  /// Borrows contiguous memory; see data.hpp for how long it must live. Throws `InvalidArgument` for size 0 and
  /// for a null pointer.
  template <class T>
  Data<T> data(std::span<T> memory, const DataOptions& options = {}) {
    return Data<T>(borrow(memory.data(), element_type<T>(), shape({memory.size()}), dense(), options,
                          std::is_const_v<T>));
  }
  /// The same for a span of fixed size.
  template <class T, std::size_t Extent>
  requires(Extent != std::dynamic_extent) Data<T> data(std::span<T, Extent> memory,
                                                       const DataOptions& options = {}) {
    return data(std::span<T>(memory), options);
  }
  /// The same for the elements of a container such as `std::vector` or `std::array`, which must not move while they
  /// are borrowed: do not let the container grow.
  template <class Container>
  requires(detail::kContiguous<Container>) auto data(Container&& container, const DataOptions& options = {}) {
    static_assert(
        std::is_lvalue_reference_v<Container>,
        "hocket: the elements of a temporary would be gone at the end of the statement; keep the container "
        "in a variable, or let the runtime own the data");
    return data(std::span<typename decltype(std::span(container))::element_type>(container), options);
  }
  /// Borrows a dense row-major array. Throws `InvalidArgument` for a null pointer, an extent of 0, and a size beyond the
  /// address space.
  template <class T, std::size_t Rank>
  Data<T, Rank> data(T* memory, const std::size_t (&extents)[Rank], const DataOptions& options = {}) {
    return Data<T, Rank>(
        borrow(memory, element_type<T>(), shape(extents), dense(), options, std::is_const_v<T>));
  }
  /// Borrows a strided array: `strides` in elements, the last one 1, each at least the next one times its extent. Throws
  /// `InvalidArgument` for others, and as above.
  template <class T, std::size_t Rank>
  Data<T, Rank> data(T* memory, const std::size_t (&extents)[Rank], const std::size_t (&strides)[Rank],
                     const DataOptions& options = {}) {
    Strides all{1, 1, 1, 1};
    for (std::size_t d = 0; d < Rank; ++d) all[d] = strides[d];
    return Data<T, Rank>(borrow(memory, element_type<T>(), shape(extents), all, options, std::is_const_v<T>));
  }
  /// Makes an array that the runtime owns; its contents are undefined until something writes them.
  /// `rt.data<float>({rows, columns})`. Throws `InvalidArgument` for an extent of 0 and a size beyond the address space,
  /// `OutOfMemory` where the host has not as much.
  template <class T, std::size_t Rank>
  Data<T, Rank> data(const std::size_t (&extents)[Rank], const DataOptions& options = {}) {
    static_assert(!std::is_const_v<T>, "hocket: runtime-owned data that nothing can write is of no use");
    return Data<T, Rank>(own(element_type<T>(), shape(extents), options));
  }

  /// Waits for the tasks that write the data, fetches it, and holds it readable until the result is destroyed.
  /// Throws `TaskError` where its last writer failed, `UninitialisedRead` where there is none, `InvalidArgument` for an
  /// empty handle or data of another runtime, `Error` where the wait could never end: in a task for data that the task
  /// itself was given, or where the calling thread holds a view that conflicts.
  template <class T, std::size_t Rank>
  HostView<const T, Rank> read(const Data<T, Rank>& data) {
    return HostView<const T, Rank>(begin_access(data.handle(), Access::Read), data.handle());
  }
  /// The same for reading and writing. Data that nothing has written may be written this way. Throws as `read` does, but
  /// for `UninitialisedRead`.
  template <class T, std::size_t Rank>
  HostView<T, Rank> write(const Data<T, Rank>& data) {
    static_assert(!std::is_const_v<T>, "hocket: this data is read-only (Data<const T>)");
    return HostView<T, Rank>(begin_access(data.handle(), Access::ReadWrite), data.handle());
  }

  /// The same for writing all of it anew: nothing is fetched, and what a failed task spoilt is mended.
  /// Throws as `write` does.
  template <class T, std::size_t Rank>
  HostView<T, Rank> overwrite(const Data<T, Rank>& data) {
    static_assert(!std::is_const_v<T>, "hocket: this data is read-only (Data<const T>)");
    return HostView<T, Rank>(begin_access(data.handle(), Access::Write), data.handle());
  }

  // ---- tasks ---------------------------------------------------------------------------------------------

  Task submit_packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions&& options,
                     std::span<const detail::PackedArgument> arguments) override;

  /// Waits for every task submitted so far; in a task, for those that it has itself submitted. Throws
  /// `TaskError` for the first one that failed since the last wait; the message says how many more did.
  /// Throws `Error` where the wait could never end, since the calling thread holds a view that a task needs.
  void wait();
  /// Withdraws every task that has not been given to a device yet; running kernels end by themselves. Does not
  /// wait. The runtime stays usable.
  void cancel();

  /// Records a graph by calling `build` with it. What `build` throws is passed on. Only what is submitted to the graph is
  /// recorded: calls of the runtime within `build` act at once.
  Graph record(const std::function<void(Graph&)>& build);
  /// Plans a graph ahead with a planner such as "heft", on predicted times. Closes the graph for
  /// further tasks. Throws `InvalidArgument` for an unknown planner or a graph of another runtime, `NoEligibleDevice` for
  /// a task that no device can run, `Error` for a planner whose schedule breaks the rules.
  Plan plan(const Graph& graph, std::string_view planner);
  /// Runs a graph: its tasks are ordered with everything else that uses its data, as one step of the program.
  /// The result stands for the whole run. Closes the graph for further tasks. Throws `InvalidArgument` for a graph of
  /// another runtime, `NoEligibleDevice` for a task that no device can run, `UninitialisedRead`; then nothing runs.
  Task run(const Graph& graph);
  /// The same with every task on the device and in the order of the plan. Throws `InvalidArgument` also for a plan of
  /// another graph, or one that sends a task where it cannot run.
  Task run(const Graph& graph, const Plan& plan);

  // ---- what it is and did --------------------------------------------------------------------------------

  const std::vector<DeviceInfo>& devices() const noexcept;
  std::string_view policy() const noexcept;
  /// Totals, and with tracing all events, since the start or the last reset. Tasks that still run are left out.
  Report report() const;
  void reset_report();
  /// Why a task runs or ran where it does. Kept for a task as long as a handle to it lives. Throws `InvalidArgument` for
  /// an empty handle, a task of another runtime, and a run of a graph, which is on no one device.
  Explanation why(const Task& task) const;

 private:
  template <std::size_t Rank>
  static Shape shape(const std::size_t (&extents)[Rank]) noexcept {
    static_assert(Rank <= kMaxRank, "hocket: data has 1 to 4 dimensions");
    Shape result;
    result.rank = static_cast<std::uint8_t>(Rank);
    for (std::size_t d = 0; d < Rank; ++d) result.extent[d] = extents[d];
    return result;
  }
  static std::optional<Strides> dense() noexcept { return std::nullopt; }
  detail::DataHandle borrow(const void* memory, ElementType element, const Shape& shape,
                            const std::optional<Strides>& strides, const DataOptions& options,
                            bool read_only);
  detail::DataHandle own(ElementType element, const Shape& shape, const DataOptions& options);
  detail::HostAccessGrant begin_access(const detail::DataHandle& handle, Access access);

  Task submit_one(const detail::Submission& submission) override;

  std::unique_ptr<detail::Engine> engine_;
};

}  // namespace hocket
