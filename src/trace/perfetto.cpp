// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/escape.hpp"
#include "trace/file.hpp"
#include "trace/lanes.hpp"

namespace hocket {
namespace trace {
namespace {

const char* reason_name(TransferReason reason) noexcept {
  switch (reason) {
    case TransferReason::Fetch:
      return "fetch";
    case TransferReason::Conversion:
      return "conversion";
    case TransferReason::WriteBack:
      return "write-back";
    case TransferReason::Eviction:
      return "eviction";
  }
  return "copy";
}

// Where a lane's events go: a process, and a thread for each of its rows.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t first_thread = 0;
};

class Writer {
 public:
  Writer(const Report& report, const std::function<void(std::string_view)>& sink)
      : report_(report), sink_(sink), lanes_(make_lanes(report)) {}

  void write() {
    sink_(fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"policy\":{}}},\"traceEvents\":[",
                      json_string(report_.policy)));
    name_tracks();
    for (std::size_t i = 0; i < lanes_.size(); ++i) write_events(lanes_[i], tracks_[i]);
    sink_("\n]}\n");
  }

 private:
  void name_tracks() {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    bool in_links = false;
    for (const Lane& lane : lanes_) {
      const bool is_link = lane.kind == LaneKind::Link;
      if (is_link ? !in_links : lane.first_of_owner) {
        in_links = is_link;
        thread = 0;
        ++process;
        std::string name = "transfers";
        if (!is_link)
          name = lane.detail.empty() || lane.owner.rfind(lane.detail, 0) == 0
                     ? lane.owner
                     : fmt::format("{} ({})", lane.owner, lane.detail);
        metadata("process_name", process, 0, "name", json_string(name));
        metadata("process_sort_index", process, 0, "sort_index", std::to_string(process));
      }
      tracks_.push_back({process, thread + 1});
      for (std::uint32_t row = 0; row < lane.row_count; ++row) {
        ++thread;
        std::string name = is_link ? lane.owner : fmt::format("worker {}", lane.worker);
        if (row > 0) name += fmt::format(" (in flight: {})", row + 1);
        metadata("thread_name", process, thread, "name", json_string(name));
        metadata("thread_sort_index", process, thread, "sort_index", std::to_string(thread));
      }
    }
  }

  void write_events(const Lane& lane, const Track& track) {
    for (std::size_t i = 0; i < lane.events.size(); ++i) {
      const std::uint32_t thread = track.first_thread + lane.rows[i];
      if (lane.kind == LaneKind::Worker) {
        const TaskEvent& event = report_.task_events[lane.events[i]];
        std::string arguments = fmt::format("\"task\":{},\"codelet\":{},\"ready_us\":{}", index(event.id),
                                            json_string(event.codelet), microseconds(event.ready));
        if (event.modelled) arguments += fmt::format(",\"modelled_us\":{}", microseconds(*event.modelled));
        if (event.failed) arguments += ",\"failed\":true";
        complete(event.name.empty() ? event.codelet : event.name, event.failed ? "failed task" : "task",
                 event.begin, event.end, track.process, thread, arguments);
      } else {
        const TransferEvent& event = report_.transfer_events[lane.events[i]];
        complete(event.data.empty() ? reason_name(event.reason) : event.data, "transfer", event.begin,
                 event.end, track.process, thread,
                 fmt::format("\"bytes\":{},\"reason\":\"{}\",\"from\":{},\"to\":{}", event.bytes.count,
                             reason_name(event.reason), json_string(event.from), json_string(event.to)));
      }
    }
  }

  // Whole nanoseconds, so that the end of an event and the begin of the next do not cross by rounding.
  static double nanoseconds(Seconds time) { return std::round(time.count * 1e9); }
  static std::string microseconds(Seconds time) {
    return std::isfinite(time.count) ? fmt::format("{:.3f}", nanoseconds(time) / 1e3) : "null";
  }

  void complete(const std::string& name, const char* category, Seconds begin, Seconds end,
                std::uint32_t process, std::uint32_t thread, const std::string& arguments) {
    const double duration = std::max(0.0, nanoseconds(end) - nanoseconds(begin));
    element(fmt::format(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"ts\":{},\"dur\":{:.3f},\"pid\":{},\"tid\":{},"
        "\"args\":{{{}}}}}",
        json_string(name), category, microseconds(begin), duration / 1e3, process, thread, arguments));
  }

  void metadata(const char* name, std::uint32_t process, std::uint32_t thread, const char* key,
                const std::string& value) {
    element(fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"{}\":{}}}}}", name,
                        process, thread, key, value));
  }

  void element(const std::string& text) {
    sink_(first_ ? "\n" : ",\n");
    sink_(text);
    first_ = false;
  }

  const Report& report_;
  const std::function<void(std::string_view)>& sink_;
  std::vector<Lane> lanes_;
  std::vector<Track> tracks_;  // of each lane
  bool first_ = true;
};

}  // namespace

void perfetto_json(const Report& report, const std::function<void(std::string_view)>& sink) {
  Writer(report, sink).write();
}

}  // namespace trace

void write_perfetto(const Report& report, const std::string& path) {
  trace::OutputFile file(path);
  trace::perfetto_json(report, [&](std::string_view text) { file.write(text); });
  file.close();
}

}  // namespace hocket
