// SPDX-License-Identifier: Apache-2.0
#include "sched/heft.hpp"

#include <algorithm>
#include <vector>

#include "sched/upward_rank.hpp"
#include "sched/worker_timeline.hpp"

namespace hocket::sched {
namespace {

// A finish time must be earlier by more than rounding error to beat one on a lower device.
constexpr double kRelativeTie = 1e-12;

// When all that `task` needs can have arrived on each device, given where its predecessors are.
void compute_arrivals(const Problem& problem, const Schedule& schedule, std::uint32_t task,
                      std::vector<double>& arrival) {
  std::fill(arrival.begin(), arrival.end(), 0.0);
  for (const std::uint32_t edge : problem.incoming_edges(task)) {
    const Placement& source = schedule.placements[problem.edge_source(edge)];
    for (std::size_t device = 0; device < arrival.size(); ++device) {
      const double delay = problem.communication_seconds(edge, source.device, device);
      arrival[device] = std::max(arrival[device], source.finish_seconds + delay);
    }
  }
}

// The worker of one device on which the task can start first; of several, the lowest.
Placement earliest_on_device(const std::vector<WorkerTimeline>& workers, std::uint32_t device, double ready,
                             double cost) {
  Placement best{device, 0, kNotAllowed, kNotAllowed};
  for (std::uint32_t worker = 0; worker < workers.size(); ++worker) {
    const double start = workers[worker].earliest_start(ready, cost);
    if (start >= best.start_seconds) continue;
    best = {device, worker, start, start + cost};
    if (start == ready) break;  // no worker can start it earlier
  }
  return best;
}

}  // namespace

Schedule HeftPlanner::plan(const Problem& problem) const {
  Schedule schedule;
  schedule.placements.resize(problem.task_count());
  std::vector<std::vector<WorkerTimeline>> timelines(problem.device_count());
  for (std::size_t device = 0; device < timelines.size(); ++device) {
    timelines[device].resize(problem.device(device).workers);
  }
  std::vector<double> arrival(problem.device_count());

  for (const std::uint32_t task : order_by_descending_rank(problem, upward_rank(problem))) {
    compute_arrivals(problem, schedule, task, arrival);
    Placement best;
    best.finish_seconds = kNotAllowed;
    for (std::uint32_t device = 0; device < timelines.size(); ++device) {
      if (!problem.allowed(task, device)) continue;
      const Placement candidate =
          earliest_on_device(timelines[device], device, arrival[device], problem.cost(task, device));
      const double to_beat = best.finish_seconds * (1.0 - kRelativeTie);
      if (best.device == Placement::kNowhere || candidate.finish_seconds < to_beat) best = candidate;
    }
    timelines[best.device][best.worker].reserve(best.start_seconds, problem.cost(task, best.device));
    schedule.placements[task] = best;
  }
  return schedule;
}

}  // namespace hocket::sched
