// SPDX-License-Identifier: Apache-2.0
//
// When one worker is idle, for planners that may insert a task between two that are already placed.
//
// It keeps the idle gaps, not the tasks: adjoining tasks leave no gap, so that a tight schedule has few. The
// gaps lie in blocks that know their longest gap, so that a search skips blocks in which nothing fits.
//
// Thread-safety: none; one planner run owns it. Cost: searching and reserving take O(128 + gaps / 128).
#pragma once

#include <cstddef>
#include <vector>

namespace hocket::sched {

class WorkerTimeline {
 public:
  // The earliest start, not before `ready_seconds`, of an idle stretch of `duration_seconds`. A task of
  // duration zero takes no worker time and starts when it is ready.
  double earliest_start(double ready_seconds, double duration_seconds) const;

  // Makes the stretch busy. It must be idle, as `earliest_start` says it is.
  void reserve(double start_seconds, double duration_seconds);

 private:
  struct Gap {
    double start;
    double end;
  };
  // Gaps in ascending order, at least one.
  struct Block {
    std::vector<Gap> gaps;
    double longest_seconds = 0.0;

    void update_longest();
  };

  // The first block that ends after `seconds`, or one past the last.
  std::size_t find_block(double seconds) const;
  void add_last_gap(Gap gap);
  void split_if_full(std::size_t block);

  std::vector<Block> blocks_;
  double busy_until_seconds_ = 0.0;  // all gaps end by then; idle for ever after
};

}  // namespace hocket::sched
