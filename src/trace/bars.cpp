// SPDX-License-Identifier: Apache-2.0
#include "trace/bars.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace hocket::trace {
namespace {

Seconds length(Seconds begin, Seconds end) { return std::max(Seconds{}, end - begin); }

// Joins the small neighbours of one row. Time per codelet is tallied so that the bar gets the colour of what
// fills most of it.
class RowMerger {
 public:
  RowMerger(Seconds grain, std::vector<Bar>& out) : grain_(grain), out_(out) {}

  void add(const Bar& bar) {
    const bool small = length(bar.begin, bar.end) < grain_;
    const bool joins = open_ && small && bar.begin - open_->end < grain_ &&
                       length(open_->begin, open_->end) < grain_ && bar.conversion == open_->conversion;
    if (!joins) flush();
    if (!open_) {
      if (!small) {
        out_.push_back(bar);
        return;
      }
      open_ = bar;
    } else {
      open_->end = std::max(open_->end, bar.end);
      open_->busy += bar.busy;
      open_->count += bar.count;
      open_->failed += bar.failed;
      open_->bytes += bar.bytes;
    }
    tally(bar);
  }

  void flush() {
    if (!open_) return;
    const auto most = std::max_element(tally_.begin(), tally_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    open_->codelet = most->first;
    tally_.clear();
    out_.push_back(*open_);
    open_.reset();
  }

 private:
  void tally(const Bar& bar) {
    const auto place =
        std::find_if(tally_.begin(), tally_.end(), [&](const auto& t) { return t.first == bar.codelet; });
    if (place == tally_.end())
      tally_.emplace_back(bar.codelet, bar.busy);
    else
      place->second += bar.busy;
  }

  Seconds grain_;
  std::vector<Bar>& out_;
  std::optional<Bar> open_;
  std::vector<std::pair<std::size_t, Seconds>> tally_;
};

// The bars of a lane before any merging, in order of their begin.
std::vector<Bar> single_bars(const Report& report, const Lane& lane,
                             const std::unordered_map<std::string, std::size_t>& rank, std::uint32_t rows) {
  std::vector<Bar> bars;
  bars.reserve(lane.events.size());
  for (std::size_t i = 0; i < lane.events.size(); ++i) {
    Bar& bar = bars.emplace_back();
    bar.event = lane.events[i];
    bar.row = std::min(lane.rows[i], rows - 1);
    if (lane.kind == LaneKind::Worker) {
      const TaskEvent& event = report.task_events[bar.event];
      bar.begin = event.begin;
      bar.end = std::max(event.begin, event.end);
      bar.failed = event.failed ? 1 : 0;
      bar.codelet = rank.at(event.codelet);
    } else {
      const TransferEvent& event = report.transfer_events[bar.event];
      bar.begin = event.begin;
      bar.end = std::max(event.begin, event.end);
      bar.bytes = event.bytes.count;
      bar.conversion = event.reason == TransferReason::Conversion;
    }
    bar.busy = bar.end - bar.begin;
  }
  return bars;
}

std::vector<Bar> merge(const std::vector<Bar>& bars, std::uint32_t rows, Seconds grain) {
  std::vector<Bar> merged;
  std::vector<RowMerger> mergers;
  for (std::uint32_t row = 0; row < rows; ++row) mergers.emplace_back(grain, merged);
  for (const Bar& bar : bars) mergers[bar.row].add(bar);
  for (RowMerger& merger : mergers) merger.flush();
  return merged;
}

}  // namespace

std::vector<CodeletTime> rank_codelets(const Report& report) {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<CodeletTime> codelets;
  for (const TaskEvent& event : report.task_events) {
    const auto [place, is_new] = places.try_emplace(event.codelet, codelets.size());
    if (is_new) codelets.push_back({event.codelet, 0, {}});
    CodeletTime& codelet = codelets[place->second];
    ++codelet.tasks;
    const Seconds time = length(event.begin, event.end);
    if (time < Seconds{1e300}) codelet.busy += time;
  }
  std::sort(codelets.begin(), codelets.end(), [](const CodeletTime& a, const CodeletTime& b) {
    return a.busy != b.busy ? a.busy > b.busy : a.name < b.name;
  });
  return codelets;
}

Chart make_chart(const Report& report, std::size_t most_bars, double resolution, std::uint32_t most_rows) {
  Chart chart;
  chart.lanes = make_lanes(report);
  chart.codelets = rank_codelets(report);
  std::unordered_map<std::string, std::size_t> rank;
  for (std::size_t i = 0; i < chart.codelets.size(); ++i) rank.emplace(chart.codelets[i].name, i);

  std::vector<LaneBars> single;
  for (const Lane& lane : chart.lanes) {
    LaneBars& bars = single.emplace_back();
    bars.row_count = std::min(lane.row_count, most_rows);
    bars.bars = single_bars(report, lane, rank, bars.row_count);
    for (const Bar& bar : bars.bars) {
      chart.begin = chart.events == 0 ? bar.begin : std::min(chart.begin, bar.begin);
      chart.end = chart.events == 0 ? bar.end : std::max(chart.end, bar.end);
      ++chart.events;
    }
  }
  chart.bars = single;
  chart.drawn = chart.events;
  const Seconds whole = chart.end - chart.begin;
  for (Seconds grain = whole / resolution; chart.drawn > most_bars && grain < whole * 2.0;
       grain = grain * 1.25) {
    chart.grain = grain;
    chart.drawn = 0;
    for (std::size_t i = 0; i < single.size(); ++i) {
      chart.bars[i].bars = merge(single[i].bars, single[i].row_count, grain);
      chart.drawn += chart.bars[i].bars.size();
    }
  }
  return chart;
}

}  // namespace hocket::trace
