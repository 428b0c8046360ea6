// SPDX-License-Identifier: Apache-2.0
/// A report's events in the Chrome trace event format (its JSON object form), which Perfetto and
/// chrome://tracing load.
#pragma once

#include <functional>
#include <hocket/report.hpp>
#include <string_view>

namespace hocket::trace {

/// Gives the text, piece by piece, to `sink`: one valid JSON object. A process for each device with a thread
/// for each worker, then one process "transfers" with a thread for each direction of each link, all named;
/// then a complete event ("X") for each task and copy, with `ts` and `dur` in microseconds since the runtime
/// started. Viewers lose events of one thread that overlap without being nested, so a worker or link that had
/// several in flight has a further thread for each more.
void perfetto_json(const Report& report, const std::function<void(std::string_view)>& sink);

}  // namespace hocket::trace
