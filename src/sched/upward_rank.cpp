// SPDX-License-Identifier: Apache-2.0
#include "sched/upward_rank.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace hocket::sched {
namespace {

// What an edge costs on average: fixed_share * fixed_seconds, and, if it carries bytes, latency_seconds +
// seconds_per_byte * bytes.
struct MeanCommunication {
  double fixed_share = 0.0;
  double latency_seconds = 0.0;
  double seconds_per_byte = 0.0;

  double seconds(const ProblemEdge& edge) const {
    const double transfer = edge.bytes > 0.0 ? latency_seconds + seconds_per_byte * edge.bytes : 0.0;
    return fixed_share * edge.fixed_seconds + transfer;
  }
};

MeanCommunication mean_communication(const Problem& problem) {
  MeanCommunication mean;
  double workers = 0.0;
  for (std::size_t from = 0; from < problem.device_count(); ++from) {
    workers += problem.device(from).workers;
    for (std::size_t to = 0; to < problem.device_count(); ++to) {
      if (from == to) continue;
      const double pairs = static_cast<double>(problem.device(from).workers) * problem.device(to).workers;
      mean.fixed_share += pairs;
      const std::uint32_t from_node = problem.device(from).memory_node;
      const std::uint32_t to_node = problem.device(to).memory_node;
      const ProblemLink& link = problem.link(from_node, to_node);
      // An absent link (bandwidth zero) can exist only where no edge carries bytes.
      if (from_node == to_node || link.bandwidth_bytes_per_second == 0.0) continue;
      mean.latency_seconds += pairs * link.latency_seconds;
      mean.seconds_per_byte += pairs / link.bandwidth_bytes_per_second;
    }
  }
  const double all_pairs = workers * (workers - 1.0);
  if (all_pairs == 0.0) return {};
  mean.fixed_share /= all_pairs;
  mean.latency_seconds /= all_pairs;
  mean.seconds_per_byte /= all_pairs;
  return mean;
}

double mean_cost(const Problem& problem, std::size_t task) {
  double sum = 0.0;
  double workers = 0.0;
  for (std::size_t device = 0; device < problem.device_count(); ++device) {
    if (!problem.allowed(task, device)) continue;
    sum += problem.cost(task, device) * problem.device(device).workers;
    workers += problem.device(device).workers;
  }
  return sum / workers;
}

// Rounds to 40 significant bits, so that ranks that would be equal on paper compare equal: (11 + 13 + 19) / 3
// + ... must not win over 80 by its last bit. Rounding, unlike a tolerance, keeps the comparison transitive.
double without_rounding_error(double rank) {
  int exponent = 0;
  const double mantissa = std::frexp(rank, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

}  // namespace

std::vector<double> upward_rank(const Problem& problem) {
  const MeanCommunication communication = mean_communication(problem);
  std::vector<double> rank(problem.task_count());
  const auto order = problem.topological_order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t task = order[i];
    double longest_tail = 0.0;
    for (std::size_t edge = problem.first_edge(task); edge < problem.first_edge(task + 1); ++edge) {
      const double tail = communication.seconds(problem.edge(edge)) + rank[problem.edge_target(edge)];
      longest_tail = std::max(longest_tail, tail);
    }
    rank[task] = mean_cost(problem, task) + longest_tail;
  }
  return rank;
}

std::vector<std::uint32_t> order_by_descending_rank(const Problem& problem, const std::vector<double>& rank) {
  struct Entry {
    double rank;
    std::uint32_t task;
    bool operator<(const Entry& other) const {
      return rank != other.rank ? rank < other.rank : task > other.task;
    }
  };
  // Picking the highest rank among the tasks whose predecessors are out equals sorting by rank wherever the
  // sorted order is topological, and stays topological where it is not.
  std::priority_queue<Entry> free_tasks;
  std::vector<std::uint32_t> remaining(problem.task_count());
  for (std::uint32_t task = 0; task < remaining.size(); ++task) {
    remaining[task] = static_cast<std::uint32_t>(problem.incoming_edges(task).size());
    if (remaining[task] == 0) free_tasks.push({without_rounding_error(rank[task]), task});
  }
  std::vector<std::uint32_t> order;
  order.reserve(remaining.size());
  while (!free_tasks.empty()) {
    const std::uint32_t task = free_tasks.top().task;
    free_tasks.pop();
    order.push_back(task);
    for (const std::uint32_t successor : problem.successors(task)) {
      if (--remaining[successor] == 0) free_tasks.push({without_rounding_error(rank[successor]), successor});
    }
  }
  return order;
}

}  // namespace hocket::sched
