// SPDX-License-Identifier: Apache-2.0
#include "trace/csv.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "trace/escape.hpp"
#include "trace/file.hpp"
#include "trace/lanes.hpp"

namespace hocket {
namespace trace {

void csv_text(const Report& report, const std::function<void(std::string_view)>& sink) {
  sink(
      "task,name,codelet,device,device_name,worker,ready_seconds,begin_seconds,end_seconds,modelled_seconds,"
      "failed\r\n");
  std::map<DeviceId, std::string> names;
  for (const TaskEvent& event : report.task_events) {
    const auto [name, is_new] = names.try_emplace(event.device);
    if (is_new) name->second = csv_field(device_name(report, event.device));
    sink(fmt::format("{},{},{},{},{},{},{},{},{},{},{}\r\n", index(event.id), csv_field(event.name),
                     csv_field(event.codelet), index(event.device), name->second, event.worker,
                     event.ready.count, event.begin.count, event.end.count,
                     event.modelled ? fmt::format("{}", event.modelled->count) : "", event.failed ? 1 : 0));
  }
}

}  // namespace trace

void write_csv(const Report& report, const std::string& path) {
  trace::OutputFile file(path);
  trace::csv_text(report, [&](std::string_view text) { file.write(text); });
  file.close();
}

}  // namespace hocket
