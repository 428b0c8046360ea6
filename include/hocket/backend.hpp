// SPDX-License-Identifier: Apache-2.0
/// The seam between the engine and the devices. A backend finds the devices of one kind; a device allocates
/// memory, copies, and launches variants of codelets. Nothing else of a device is visible above this header.
///
/// Threads. Each asynchronous device has one driving thread in the engine. `copy`, `launch`, `record` and
/// `wait` are called by that thread alone; `allocate`, `release`, `footprint` and the questions may be
/// called by any thread, but never two of them at once on one device. A device that runs on the calling
/// thread (`Execution::CallingThread`) has `launch` called by any number of the engine's workers at once.
///
/// Completion. `copy` and `launch` return at once with an `Event`; the operation is over when
/// `Event::done()` says so. The device calls the waker of `Device::set_waker` whenever an event may have
/// become done, from any thread; a lost call costs a few milliseconds at most, since the engine also polls.
///
/// Failure. What cannot be started throws (`DeviceError`, `OutOfMemory`, `InvalidArgument`); what fails later
/// is reported by `Event::failure()`. Either fails the one task concerned.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <hocket/error.hpp>
#include <hocket/format.hpp>
#include <hocket/types.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// How a kernel uses one argument.
enum class Access : std::uint8_t { Read, Write, ReadWrite };

constexpr bool reads(Access access) noexcept { return access != Access::Write; }
constexpr bool writes(Access access) noexcept { return access != Access::Read; }

/// What a codelet says about one parameter of its kernels.
struct Parameter {
  bool is_data = false;          ///< A view of data; otherwise a scalar passed by value.
  Access access = Access::Read;  ///< Data only.
  ElementType element;           ///< Type of an element, or of the scalar.
  std::uint8_t rank = 0;         ///< Data only.
  std::uint32_t alignment = 1;   ///< Scalars only: alignment in bytes.
};

/// One memory block on one node that holds a box of a datum in one format.
struct Buffer {
  void* memory = nullptr;  ///< Host: address of the first element. Device: what `allocate` returned.
  Shape shape;             ///< What the block holds.
  Strides strides{};       ///< In elements; the host's may be those of an enclosing array, else dense.
  Format format;
};

/// One argument of a launch. Scalars are owned by the task; data lie in the memory node of the device.
struct Argument {
  Parameter parameter;
  const void* scalar = nullptr;  ///< `parameter.element.bytes` bytes.
  Buffer buffer;                 ///< In the format that the variant asked for.
};

/// A variant of a codelet: the code for one kind of device. Immutable once its codelet is built, and shared
/// by all threads. A backend defines its own subclass and downcasts to it in `Device::launch`.
class Variant {
 public:
  explicit Variant(std::string device_kind) : device_kind_(std::move(device_kind)) {}
  Variant(const Variant&) = default;
  Variant& operator=(const Variant&) = default;
  virtual ~Variant() = default;

  /// The `Backend::kind()` of the devices that can run it.
  const std::string& device_kind() const noexcept { return device_kind_; }

  /// Checks the variant against the parameters of its codelet; throws `InvalidArgument` where they differ.
  /// Called once, when the codelet is built.
  virtual void check(std::string_view codelet, std::span<const Parameter> parameters) const;

  /// The format in which the variant wants parameter `index`, where that is not what the device prefers.
  std::optional<Format> wanted_format(std::size_t index) const noexcept {
    return index < wanted_.size() ? wanted_[index] : std::nullopt;
  }
  void want_format(std::size_t index, Format format);
  /// One more than the highest index for which a format is wanted; 0 where there is none.
  std::size_t wanted_formats() const noexcept { return wanted_.size(); }

 private:
  std::string device_kind_;
  std::vector<std::optional<Format>> wanted_;
};

/// One part of a copy: a box of a buffer.
struct CopyEnd {
  Buffer buffer;
  Box box;  ///< Within `buffer.shape`.
};

enum class CopyDirection : std::uint8_t { HostToDevice, DeviceToHost, WithinDevice };

/// A copy between the host's memory and a device's, or within a device's. Both boxes have the same shape. The
/// formats are a pair for which `Device::can_copy` answered yes; where they differ, the copy converts.
struct CopyRequest {
  CopyDirection direction = CopyDirection::HostToDevice;
  CopyEnd from;
  CopyEnd to;
};

/// Something asynchronous that has been started. All members may be called from any thread.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Whether it is over, in success or failure. Never blocks.
  virtual bool done() = 0;
  /// Why it failed; null where it succeeded. Only after `done()`.
  virtual std::exception_ptr failure() = 0;
  /// How long the device was busy with it on the wall clock, where the device can tell. Only after `done()`.
  virtual std::optional<Seconds> busy() { return std::nullopt; }
  /// How long the emulated hardware would have been busy, for emulated devices. Only after `done()`.
  virtual std::optional<Seconds> modelled() { return std::nullopt; }
};
using EventHandle = std::shared_ptr<Event>;

/// An event that is over; what a device that finishes within the call returns.
EventHandle completed_event(std::exception_ptr failure = nullptr);

enum class Execution : std::uint8_t {
  CallingThread,  ///< `launch` runs the kernel to its end on the thread that calls it and may return null.
  Asynchronous,   ///< `launch` queues the kernel and returns.
};

/// What is known of a device before anything runs on it.
struct DeviceProperties {
  std::string kind;  ///< "cpu", "opencl", "pim", ... as in `Backend::kind()`.
  std::string name;  ///< Model name for people, e.g. "AMD EPYC (2 cores)".
  Execution execution = Execution::Asynchronous;
  std::uint32_t units = 1;             ///< Cores, compute units, DPUs.
  std::uint32_t concurrency = 1;       ///< Tasks that truly run at the same time (CPU: workers).
  std::uint32_t in_flight = 4;         ///< Tasks that the engine keeps queued on it (asynchronous devices).
  bool host_memory = false;            ///< Computes in the host's memory; allocate and copy are never called.
  Bytes memory{};                      ///< Capacity of its memory node.
  double flops_per_second = 1e9;       ///< Nominal double-precision rate of one task on the wall clock.
  double bytes_per_second = 1e9;       ///< Nominal memory bandwidth of one task on the wall clock.
  double link_bytes_per_second = 1e9;  ///< Between host and device, each way.
  Seconds link_latency{20e-6};
  bool emulated = false;  ///< Results are real; times on real hardware are modelled (`Event::modelled`).
  /// Opened only where its kind is named in the device specification.
  bool on_request_only = false;
  std::vector<std::uint32_t> worker_cpus;  ///< CallingThread only: the OS processor of each worker.
};

/// Number of an in-order queue of a device.
enum class LaneId : std::uint32_t {};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  /// Waits for everything that was started on it.
  virtual ~Device() = default;

  virtual const DeviceProperties& properties() const = 0;

  /// Number of lanes: what is queued in one lane starts in order and, unless `wait` says so, independently of
  /// the other lanes. Lane 0 takes launches; the last lane takes copies (it may be the same one).
  virtual std::uint32_t lanes() const { return 1; }

  /// The format in which kernels of this device take data of that type when the variant does not say.
  virtual Format preferred_format(ElementType element, Access access) const {
    (void)access;
    return {element, Layout::RowMajor};
  }
  /// Whether the device can hold data in that format.
  virtual bool can_hold(Format format) const { return format.layout == Layout::RowMajor; }
  /// Whether `copy` can do it, for any box of a buffer, converting where the formats differ.
  virtual bool can_copy(CopyDirection direction, Format from, Format to) const {
    (void)direction;
    return from == to && from.layout == Layout::RowMajor;
  }
  /// What `allocate` would take from the capacity of the memory node.
  virtual Bytes footprint(const Shape& shape, Format format) const {
    return Bytes{shape.elements() * format.element.bytes};
  }

  /// Allocates room for a box of that shape; the contents are indeterminate. Throws `OutOfMemory`.
  virtual void* allocate(const Shape& shape, Format format) = 0;
  /// Returns what `allocate` gave. Nothing that was started may still use it.
  virtual void release(void* memory) noexcept = 0;

  /// Queues a copy. The memory of both ends stays valid until the event is done.
  virtual EventHandle copy(LaneId lane, const CopyRequest& request) = 0;
  /// Queues a variant of this device's kind. `arguments` is copied; the memory that it names stays valid until
  /// the event is done.
  virtual EventHandle launch(LaneId lane, const Variant& variant, std::span<const Argument> arguments) = 0;
  /// An event that is done when everything queued in the lane so far is.
  virtual EventHandle record(LaneId lane) = 0;
  /// Makes what is queued in `lane` from now on start only after `event` (of this device) is done, without
  /// waiting on the calling thread.
  virtual void wait(LaneId lane, const EventHandle& event) = 0;

  /// Gives the function to call when an event may have become done. Called once, before the first operation.
  virtual void set_waker(std::function<void()> waker) = 0;

  /// Energy used since the device was opened, where it can be read or modelled, in joules.
  virtual std::optional<double> energy_joules() { return std::nullopt; }
};

/// Finds and opens the devices of one kind.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Lower-case name of the kind, as in a device specification: "cpu", "opencl", "pim".
  virtual std::string_view kind() const = 0;
  /// Opens the devices that `specification` asks for: what follows the colon in "pim:64" (empty where there
  /// is none). An empty result means that there are none; a specification that cannot be understood throws
  /// `InvalidArgument` and says what can.
  virtual std::vector<std::unique_ptr<Device>> open(std::string_view specification) = 0;
  /// Whether all of its devices are `on_request_only`: they are then not even opened unless asked for.
  virtual bool on_request_only() const { return false; }
  /// Why there are no devices, for people, after `open` found none.
  virtual std::string why_none() const { return "none found"; }
};

std::unique_ptr<Backend> make_cpu_backend();     ///< The cores of this machine; "cpu" or "cpu:WORKERS".
std::unique_ptr<Backend> make_opencl_backend();  ///< "opencl", or "opencl:INDEX"; null where not built in.
std::unique_ptr<Backend> make_pim_backend();     ///< "pim" or "pim:DPUS"; null where not built in.

}  // namespace hocket
