// SPDX-License-Identifier: Apache-2.0
//
// The independent check of schedules. It recomputes everything from the problem's raw numbers, communication
// included, so that a mistake in what planners share (or in `Problem::communication_seconds`) cannot hide
// itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <hocket/problem.hpp>

namespace hocket {
namespace {

// Times are sums of many rounded terms; one part in 10^9 is far above their rounding error and far below what
// matters.
constexpr double kRelativeTolerance = 1e-9;

// True if `a` is smaller than `b` by more than rounding error.
bool clearly_less(double a, double b) {
  return a < b - kRelativeTolerance * std::max(std::abs(a), std::abs(b));
}

class Validation {
 public:
  Validation(const Problem& problem, const Schedule& schedule) : problem_(problem), schedule_(schedule) {}

  std::vector<Violation> run() {
    check_task_count();
    placed_.assign(problem_.task_count(), false);
    timed_.assign(problem_.task_count(), false);
    const std::size_t tasks = std::min(problem_.task_count(), schedule_.placements.size());
    for (std::uint32_t task = 0; task < tasks; ++task) {
      placed_[task] = check_place(task);
      timed_[task] = placed_[task] && check_times(task);
    }
    check_precedence();
    check_exclusivity();
    return std::move(violations_);
  }

 private:
  const Placement& at(std::uint32_t task) const { return schedule_.placements[task]; }

  void report(Violation::Kind kind, std::uint32_t task, std::uint32_t other_task, std::string message) {
    violations_.push_back({kind, task, other_task, std::move(message)});
  }

  void check_task_count() {
    const std::size_t expected = problem_.task_count();
    const std::size_t found = schedule_.placements.size();
    if (found == expected) return;
    report(Violation::Kind::WrongTaskCount, 0, 0,
           fmt::format("the schedule has {} placements for {} tasks", found, expected));
    for (std::size_t task = found; task < expected; ++task) report_missing(static_cast<std::uint32_t>(task));
  }

  void report_missing(std::uint32_t task) {
    report(Violation::Kind::MissingTask, task, task, fmt::format("task {} is placed nowhere", task));
  }

  // Returns whether the task is on a worker that exists, so that the other checks make sense for it.
  bool check_place(std::uint32_t task) {
    const Placement& placement = at(task);
    if (placement.device == Placement::kNowhere) {
      report_missing(task);
      return false;
    }
    if (placement.device >= problem_.device_count()) {
      report(Violation::Kind::UnknownDevice, task, task,
             fmt::format("task {} is on device {}, but there are {}", task, placement.device,
                         problem_.device_count()));
      return false;
    }
    const std::uint32_t workers = problem_.device(placement.device).workers;
    if (placement.worker >= workers) {
      report(Violation::Kind::UnknownWorker, task, task,
             fmt::format("task {} is on worker {} of device {}, which has {}", task, placement.worker,
                         placement.device, workers));
      return false;
    }
    return true;
  }

  // Returns whether start and finish are usable for comparison with other tasks.
  bool check_times(std::uint32_t task) {
    const Placement& placement = at(task);
    const double start = placement.start_seconds;
    const double finish = placement.finish_seconds;
    if (!std::isfinite(start) || !std::isfinite(finish) || start < 0.0 || finish < 0.0) {
      report(Violation::Kind::InvalidTime, task, task,
             fmt::format("task {} runs from {} to {} s", task, start, finish));
      return false;
    }
    const double cost = problem_.cost(task, placement.device);
    if (!std::isfinite(cost)) {
      report(Violation::Kind::ForbiddenDevice, task, task,
             fmt::format("task {} may not run on device {}", task, placement.device));
    } else if (clearly_less(finish, start + cost) || clearly_less(start + cost, finish)) {
      report(Violation::Kind::WrongDuration, task, task,
             fmt::format("task {} runs from {} to {} s, but takes {} s on device {}", task, start, finish,
                         cost, placement.device));
    }
    return true;
  }

  double arrival_delay(std::size_t edge, std::uint32_t from_device, std::uint32_t to_device) const {
    double delay = 0.0;
    if (from_device != to_device) delay += problem_.edge(edge).fixed_seconds;
    const std::uint32_t from_node = problem_.device(from_device).memory_node;
    const std::uint32_t to_node = problem_.device(to_device).memory_node;
    const double bytes = problem_.edge(edge).bytes;
    if (from_node != to_node && bytes > 0.0) {
      const ProblemLink& link = problem_.link(from_node, to_node);
      delay += link.latency_seconds + bytes / link.bandwidth_bytes_per_second;
    }
    return delay;
  }

  void check_precedence() {
    for (std::size_t edge = 0; edge < problem_.edge_count(); ++edge) {
      const std::uint32_t source = problem_.edge_source(edge);
      const std::uint32_t target = problem_.edge_target(edge);
      if (!timed_[source] || !timed_[target]) continue;
      const double delay = arrival_delay(edge, at(source).device, at(target).device);
      const double arrival = at(source).finish_seconds + delay;
      if (!clearly_less(at(target).start_seconds, arrival)) continue;
      report(
          Violation::Kind::BrokenPrecedence, target, source,
          fmt::format("task {} starts at {} s, but what it needs from task {} arrives at {} s (finished at "
                      "{} s, {} s "
                      "of communication)",
                      target, at(target).start_seconds, source, arrival, at(source).finish_seconds, delay));
    }
  }

  // Sweeps over each worker's tasks by start. If any two overlap, then some task overlaps the one that, of
  // those that started before it, finishes last.
  void check_exclusivity() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t task = 0; task < timed_.size(); ++task) {
      if (timed_[task] && at(task).finish_seconds > at(task).start_seconds) order.push_back(task);
    }
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      const Placement& left = at(a);
      const Placement& right = at(b);
      if (left.device != right.device) return left.device < right.device;
      if (left.worker != right.worker) return left.worker < right.worker;
      if (left.start_seconds != right.start_seconds) return left.start_seconds < right.start_seconds;
      return a < b;
    });
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t task = order[i];
      const bool same_worker =
          i > 0 && at(task).device == at(last).device && at(task).worker == at(last).worker;
      if (same_worker && clearly_less(at(task).start_seconds, at(last).finish_seconds) &&
          clearly_less(at(last).start_seconds, at(task).finish_seconds)) {
        report(Violation::Kind::Overlap, task, last,
               fmt::format(
                   "tasks {} ({} to {} s) and {} ({} to {} s) are on worker {} of device {} at the same time",
                   last, at(last).start_seconds, at(last).finish_seconds, task, at(task).start_seconds,
                   at(task).finish_seconds, at(task).worker, at(task).device));
      }
      if (!same_worker || at(task).finish_seconds > at(last).finish_seconds) last = task;
    }
  }

  const Problem& problem_;
  const Schedule& schedule_;
  std::vector<bool> placed_;  // on a worker that exists
  std::vector<bool> timed_;   // placed, with usable times
  std::vector<Violation> violations_;
};

}  // namespace

double Schedule::makespan_seconds() const {
  double latest = 0.0;
  for (const Placement& placement : placements) latest = std::max(latest, placement.finish_seconds);
  return latest;
}

std::string_view to_string(Violation::Kind kind) {
  switch (kind) {
    case Violation::Kind::WrongTaskCount:
      return "wrong task count";
    case Violation::Kind::MissingTask:
      return "missing task";
    case Violation::Kind::UnknownDevice:
      return "unknown device";
    case Violation::Kind::UnknownWorker:
      return "unknown worker";
    case Violation::Kind::ForbiddenDevice:
      return "forbidden device";
    case Violation::Kind::InvalidTime:
      return "invalid time";
    case Violation::Kind::WrongDuration:
      return "wrong duration";
    case Violation::Kind::BrokenPrecedence:
      return "broken precedence";
    case Violation::Kind::Overlap:
      return "overlap";
  }
  return "unknown";
}

std::vector<Violation> validate(const Problem& problem, const Schedule& schedule) {
  return Validation(problem, schedule).run();
}

}  // namespace hocket
