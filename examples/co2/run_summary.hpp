// SPDX-License-Identifier: Apache-2.0
/// What a page says about how a run went: the runtime's report as tables and as bars of a timeline. Pure; any
/// thread.
#pragma once

#include <cstddef>
#include <hocket/report.hpp>
#include <string>
#include <vector>

#include "co2/report_page.hpp"

namespace hocket::jobs::co2 {

/// "1.25 ms", "320 µs": three significant digits.
std::string show_seconds(Seconds time);
/// "4.00 MiB"
std::string show_bytes(Bytes size);
/// "12.3 GFLOP/s"; a dash where the time is 0.
std::string show_rate(double flops, Seconds time);

/// One row for each device: its tasks, its share of the floating-point work, how busy it was.
Table device_table(const Report& report);
/// One row for each link over which something moved.
Table link_table(const Report& report);
/// One row for each codelet, those that took the longest first. Empty without tracing.
Table codelet_table(const Report& report);

/// Tasks and copies of a traced run, at most about `most`: beyond it, short neighbours of a kind become one
/// bar. Empty without tracing.
std::vector<TimelineBar> timeline(const Report& report, std::size_t most);

}  // namespace hocket::jobs::co2
