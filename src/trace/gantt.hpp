// SPDX-License-Identifier: Apache-2.0
/// The Gantt chart of a report as SVG.
#pragma once

#include <cstddef>
#include <hocket/report.hpp>
#include <string>

namespace hocket::trace {

/// What `gantt_svg` draws at most by itself; browsers scroll a few thousand shapes without effort.
inline constexpr std::size_t kMostBars = 6000;

/// `gantt_svg` with a limit of about `most_bars` bars; where neighbours had to be merged to keep it, the
/// chart says so. One `<svg>` element that needs nothing from outside, readable on light and dark pages;
/// names in it are escaped. A task's codelet gives its colour; where there are more than ten, the
/// shortest-running share a grey.
std::string gantt_chart(const Report& report, std::size_t most_bars);

}  // namespace hocket::trace
