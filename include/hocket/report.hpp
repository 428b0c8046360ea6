// SPDX-License-Identifier: Apache-2.0
/// What a run did: totals for each device and link, and, where tracing is on, every task and copy.
/// Plain data; all times are seconds of the wall clock since the runtime started, unless a name says
/// `modelled`, which is the time that an emulated device's hardware would have taken.
#pragma once

#include <cstdint>
#include <hocket/backend.hpp>
#include <hocket/types.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// Why data was moved.
enum class TransferReason : std::uint8_t { Fetch, Conversion, WriteBack, Eviction };

struct DeviceReport {
  DeviceId id{};
  std::string kind;
  std::string name;
  std::uint32_t workers = 1;  ///< Tasks that can run on it at once.
  std::uint64_t tasks = 0;
  /// Sum over its tasks; may exceed the wall clock where workers > 1. Tasks of the fast lane are not timed one by one:
  /// for these it is the time from when a worker takes up work until it finds none.
  Seconds busy{};
  std::optional<Seconds> modelled;  ///< Emulated devices.
  double flops = 0.0;               ///< As the codelets state them (`Codelet::with_work`).
};

struct LinkReport {
  std::string from;  ///< "host", or the name of a device's memory: "opencl:0".
  std::string to;
  Bytes bytes{};
  std::uint64_t copies = 0;
  Seconds busy{};
};

struct TaskEvent {
  TaskId id{};
  std::string name;
  std::string codelet;
  DeviceId device{};
  std::uint32_t worker = 0;  ///< Within the device.
  Seconds ready{};
  Seconds begin{};
  Seconds end{};
  std::optional<Seconds> modelled;
  bool failed = false;
};

struct TransferEvent {
  std::string data;
  std::string from;
  std::string to;
  Bytes bytes{};
  TransferReason reason = TransferReason::Fetch;
  Seconds begin{};
  Seconds end{};
};

struct Report {
  Seconds begin{};          ///< Start of the period: of the runtime, or the last `Runtime::reset_report()`.
  Seconds end{};            ///< When the report was taken.
  Seconds makespan{};       ///< From the first start of a task in the period to the last end.
  std::uint64_t tasks = 0;  ///< Done in the period.
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  Bytes bytes_moved{};  ///< Between memory nodes.
  double flops = 0.0;
  std::string policy;
  std::vector<DeviceReport> devices;
  std::vector<LinkReport> links;
  std::vector<TaskEvent> task_events;          ///< Only with `RuntimeOptions::trace`.
  std::vector<TransferEvent> transfer_events;  ///< Only with `RuntimeOptions::trace`.
};

/// Writes the events as Chrome trace JSON, which Perfetto (ui.perfetto.dev) loads. Throws `FileError`.
void write_perfetto(const Report& report, const std::string& path);
/// Writes a self-contained HTML page: totals and a Gantt chart of devices and links. Throws `FileError`.
void write_html(const Report& report, const std::string& title, const std::string& path);
/// Writes the task events as CSV with a header line. Throws `FileError`.
void write_csv(const Report& report, const std::string& path);
/// The Gantt chart of devices and links as one `<svg>` element, for embedding in a page.
std::string gantt_svg(const Report& report);

}  // namespace hocket
