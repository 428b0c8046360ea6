// SPDX-License-Identifier: Apache-2.0
#include "sched/worker_timeline.hpp"

#include <algorithm>

namespace hocket::sched {
namespace {

constexpr std::size_t kLargestBlock = 128;

// A task whose length equals a gap's on paper must fit despite rounding: times may exceed a gap's end by this
// part of themselves, a thousandth of what the validator lets pass.
constexpr double kRelativeSlack = 1e-12;

bool fits(double start, double duration, double gap_end) {
  return start + duration <= gap_end * (1.0 + kRelativeSlack);
}

}  // namespace

void WorkerTimeline::Block::update_longest() {
  longest_seconds = 0.0;
  // The slack is counted in, so that skipping a block never skips a gap that `fits` would accept.
  for (const Gap& gap : gaps) {
    longest_seconds = std::max(longest_seconds, gap.end * (1.0 + 2.0 * kRelativeSlack) - gap.start);
  }
}

std::size_t WorkerTimeline::find_block(double seconds) const {
  const auto ends_by = [](const Block& block, double time) { return block.gaps.back().end <= time; };
  return static_cast<std::size_t>(std::lower_bound(blocks_.begin(), blocks_.end(), seconds, ends_by) -
                                  blocks_.begin());
}

double WorkerTimeline::earliest_start(double ready_seconds, double duration_seconds) const {
  if (duration_seconds == 0.0) return ready_seconds;
  if (ready_seconds >= busy_until_seconds_) return ready_seconds;
  for (std::size_t block = find_block(ready_seconds); block < blocks_.size(); ++block) {
    if (blocks_[block].longest_seconds < duration_seconds) continue;
    for (const Gap& gap : blocks_[block].gaps) {
      if (gap.end <= ready_seconds) continue;
      const double start = std::max(gap.start, ready_seconds);
      if (fits(start, duration_seconds, gap.end)) return start;
    }
  }
  return busy_until_seconds_;
}

void WorkerTimeline::reserve(double start_seconds, double duration_seconds) {
  if (duration_seconds == 0.0) return;
  const double finish = start_seconds + duration_seconds;
  if (start_seconds >= busy_until_seconds_) {
    if (start_seconds > busy_until_seconds_) add_last_gap({busy_until_seconds_, start_seconds});
    busy_until_seconds_ = finish;
    return;
  }
  const std::size_t number = find_block(start_seconds);
  Block& block = blocks_[number];
  const auto gap = std::find_if(block.gaps.begin(), block.gaps.end(), [start_seconds](const Gap& candidate) {
    return candidate.end > start_seconds;
  });
  const Gap before{gap->start, start_seconds};
  const Gap after{finish, gap->end};
  const bool keeps_before = before.start < before.end;
  const bool keeps_after = after.start < after.end;
  if (keeps_before && keeps_after) {
    *gap = before;
    block.gaps.insert(gap + 1, after);
  } else if (keeps_before || keeps_after) {
    *gap = keeps_before ? before : after;
  } else {
    block.gaps.erase(gap);
  }
  if (block.gaps.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(number));
    return;
  }
  block.update_longest();
  split_if_full(number);
}

void WorkerTimeline::add_last_gap(Gap gap) {
  if (blocks_.empty()) blocks_.emplace_back();
  blocks_.back().gaps.push_back(gap);
  blocks_.back().update_longest();
  split_if_full(blocks_.size() - 1);
}

void WorkerTimeline::split_if_full(std::size_t block) {
  if (blocks_[block].gaps.size() <= kLargestBlock) return;
  Block second;
  const auto middle = blocks_[block].gaps.begin() + kLargestBlock / 2;
  second.gaps.assign(middle, blocks_[block].gaps.end());
  blocks_[block].gaps.erase(middle, blocks_[block].gaps.end());
  blocks_[block].update_longest();
  second.update_longest();
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block) + 1, std::move(second));
}

}  // namespace hocket::sched
