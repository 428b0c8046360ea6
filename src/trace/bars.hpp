// SPDX-License-Identifier: Apache-2.0
/// What a Gantt chart draws: the events of each lane, merged where there are more than a picture can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/report.hpp>
#include <hocket/types.hpp>
#include <string>
#include <vector>

#include "trace/lanes.hpp"

namespace hocket::trace {

/// The codelets of a report's events, those that took the longest first.
struct CodeletTime {
  std::string name;
  std::uint64_t tasks = 0;
  Seconds busy{};
};
std::vector<CodeletTime> rank_codelets(const Report& report);

/// A stretch of one row of a lane: one event, or several neighbours.
struct Bar {
  Seconds begin{};
  Seconds end{};
  Seconds busy{};           ///< Sum over its events; less than its length where there are gaps.
  std::size_t event = 0;    ///< The first one.
  std::size_t count = 1;    ///< How many events.
  std::size_t failed = 0;   ///< How many of them failed.
  std::uint64_t bytes = 0;  ///< Links: moved in all.
  std::size_t codelet = 0;  ///< Workers: the one with the most time in it, as its place in the ranking.
  bool conversion = false;  ///< Links.
  std::uint32_t row = 0;
};

struct LaneBars {
  std::vector<Bar> bars;
  std::uint32_t row_count = 1;
};

struct Chart {
  std::vector<Lane> lanes;
  std::vector<LaneBars> bars;  ///< Of each lane.
  std::vector<CodeletTime> codelets;
  Seconds begin{};  ///< The first begin of an event; equal to `end` where there is none.
  Seconds end{};
  std::size_t events = 0;  ///< Drawn, alone or merged.
  std::size_t drawn = 0;   ///< Bars.
  Seconds grain{};  ///< Events shorter than this were merged with neighbours nearer than this; 0: none were.
};

/// Lays a report out in at most about `most_bars` bars: where there are more events, those shorter than a
/// grain of time become one with near neighbours of their row, and the grain grows from 1/`resolution` of the
/// whole until the number fits. Lanes show at most `most_rows` rows; what would be below shares the last one.
Chart make_chart(const Report& report, std::size_t most_bars, double resolution, std::uint32_t most_rows);

}  // namespace hocket::trace
