// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <hocket/error.hpp>
#include <hocket/problem.hpp>
#include <queue>
#include <string>

namespace hocket {
namespace {

// Indices are 32 bits wide; the largest value stays free for "none".
constexpr std::size_t kLargestCount = std::numeric_limits<std::uint32_t>::max() - 1;

void check_finite_and_not_negative(double value, std::string_view what, std::string_view where) {
  if (std::isfinite(value) && value >= 0.0) return;
  throw InvalidArgument(fmt::format("{} of {} is {}: give a finite number, not below 0", what, where, value));
}

// The links form a matrix over all nodes: a stray large number would allocate a huge one.
void check_memory_node(std::uint32_t node, std::string_view where) {
  constexpr std::uint32_t kNodeLimit = 1024;
  if (node < kNodeLimit) return;
  throw InvalidArgument(fmt::format("memory node {} of {} is out of range: number the nodes from 0, below {}",
                                    node, where, kNodeLimit));
}

// Turns counts per bucket, kept one place to the right, into offsets.
void counts_to_offsets(std::vector<std::uint32_t>& counts) {
  for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
}

// Describes a cycle among the tasks that Kahn's algorithm could not remove. Each of those has a predecessor
// that could not be removed either, so that walking backwards among them must come round.
std::string describe_cycle(const Problem& problem, const std::vector<std::uint32_t>& remaining_predecessors) {
  const auto stuck = [&](std::uint32_t task) { return remaining_predecessors[task] != 0; };
  std::uint32_t task = 0;
  while (!stuck(task)) ++task;

  constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> position(problem.task_count(), kUnseen);
  std::vector<std::uint32_t> walk;
  while (position[task] == kUnseen) {
    position[task] = static_cast<std::uint32_t>(walk.size());
    walk.push_back(task);
    for (const std::uint32_t edge : problem.incoming_edges(task)) {
      if (!stuck(problem.edge_source(edge))) continue;
      task = problem.edge_source(edge);
      break;
    }
  }
  // The walk went against the arrows: print it from its end. Long cycles are cut after a few tasks.
  constexpr std::size_t kShown = 8;
  std::string text = std::to_string(task);
  std::size_t shown = 0;
  for (std::size_t i = walk.size(); i-- > position[task];) {
    if (++shown > kShown) return text + " -> ... -> " + std::to_string(task);
    text += " -> " + std::to_string(walk[i]);
  }
  return text;
}

// Kahn's algorithm with a heap, so that the order depends on the graph alone. Returns the numbers of
// predecessors that could not be removed; all are zero if there is no cycle.
std::vector<std::uint32_t> order_topologically(const Problem& problem, std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> remaining(problem.task_count());
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_tasks;
  for (std::uint32_t task = 0; task < remaining.size(); ++task) {
    remaining[task] = static_cast<std::uint32_t>(problem.incoming_edges(task).size());
    if (remaining[task] == 0) free_tasks.push(task);
  }
  order.clear();
  order.reserve(problem.task_count());
  while (!free_tasks.empty()) {
    const std::uint32_t task = free_tasks.top();
    free_tasks.pop();
    order.push_back(task);
    for (const std::uint32_t successor : problem.successors(task)) {
      if (--remaining[successor] == 0) free_tasks.push(successor);
    }
  }
  return remaining;
}

}  // namespace

std::uint32_t ProblemBuilder::add_device(ProblemDevice device) {
  const std::size_t number = devices_.size();
  if (task_count_ != 0) {
    throw InvalidArgument(fmt::format(
        "device {} comes after task {}, whose costs do not cover it: add all devices before the first task",
        number, task_count_ - 1));
  }
  if (device.workers == 0) {
    throw InvalidArgument(fmt::format("device {} has no worker: give it at least one", number));
  }
  check_memory_node(device.memory_node, fmt::format("device {}", number));
  devices_.push_back(device);
  return static_cast<std::uint32_t>(number);
}

void ProblemBuilder::set_link(std::uint32_t from_node, std::uint32_t to_node, ProblemLink link) {
  const std::string where = fmt::format("the link from memory node {} to {}", from_node, to_node);
  check_memory_node(std::max(from_node, to_node), where);
  if (from_node == to_node) {
    throw InvalidArgument(fmt::format("{} is a loop: data within one node need no transfer", where));
  }
  check_finite_and_not_negative(link.latency_seconds, "the latency in seconds", where);
  if (!(link.bandwidth_bytes_per_second > 0.0)) {
    throw InvalidArgument(fmt::format("the bandwidth of {} is {} bytes/s: give a number above 0", where,
                                      link.bandwidth_bytes_per_second));
  }
  links_.push_back({from_node, to_node, link});
}

std::uint32_t ProblemBuilder::add_task(std::span<const double> cost_seconds) {
  if (task_count_ >= kLargestCount) {
    throw InvalidArgument(fmt::format("more than {} tasks: split the problem", kLargestCount));
  }
  const std::string where = fmt::format("task {}", task_count_);
  if (devices_.empty()) {
    throw InvalidArgument(fmt::format("{} comes before any device: add the devices first", where));
  }
  if (cost_seconds.size() != devices_.size()) {
    throw InvalidArgument(
        fmt::format("{} has {} costs for {} devices: give one per device, kNotAllowed where it may "
                    "not run",
                    where, cost_seconds.size(), devices_.size()));
  }
  bool runs_somewhere = false;
  for (std::size_t device = 0; device < cost_seconds.size(); ++device) {
    const double cost = cost_seconds[device];
    if (std::isnan(cost) || cost < 0.0) {
      throw InvalidArgument(
          fmt::format("the cost of {} on device {} is {}: give seconds, not below 0, or kNotAllowed", where,
                      device, cost));
    }
    runs_somewhere = runs_somewhere || cost != kNotAllowed;
  }
  if (!runs_somewhere) {
    throw InvalidArgument(fmt::format("{} may run on none of the {} devices: give it a finite cost on one",
                                      where, devices_.size()));
  }
  cost_.insert(cost_.end(), cost_seconds.begin(), cost_seconds.end());
  return task_count_++;
}

void ProblemBuilder::add_edge(std::uint32_t source, std::uint32_t target, ProblemEdge edge) {
  const std::string where = fmt::format("the edge from task {} to {}", source, target);
  if (edges_.size() >= kLargestCount) {
    throw InvalidArgument(fmt::format("more than {} edges: split the problem", kLargestCount));
  }
  if (std::max(source, target) >= task_count_) {
    throw InvalidArgument(fmt::format(
        "{} names a task that does not exist (there are {}): add both tasks first", where, task_count_));
  }
  if (source == target) {
    throw InvalidArgument(fmt::format("{} is a loop: a task cannot wait for itself", where));
  }
  check_finite_and_not_negative(edge.bytes, "the number of bytes", where);
  check_finite_and_not_negative(edge.fixed_seconds, "the fixed time in seconds", where);
  edges_.push_back({source, target, edge});
}

Problem ProblemBuilder::build() const {
  if (devices_.empty()) throw InvalidArgument("the problem has no device: add one");
  Problem problem;
  problem.devices_ = devices_;
  problem.cost_ = cost_;
  set_links(problem);
  set_edges(problem);
  const std::vector<std::uint32_t> remaining = order_topologically(problem, problem.topological_order_);
  if (problem.topological_order_.size() != task_count_) {
    throw InvalidArgument(
        fmt::format("the tasks {} wait for each other in a cycle: remove one of these edges",
                    describe_cycle(problem, remaining)));
  }
  return problem;
}

void ProblemBuilder::set_links(Problem& problem) const {
  std::size_t nodes = 0;
  for (const ProblemDevice& device : devices_) nodes = std::max<std::size_t>(nodes, device.memory_node + 1);
  for (const StatedLink& stated : links_) {
    nodes = std::max<std::size_t>(nodes, std::max(stated.from_node, stated.to_node) + 1);
  }
  // A bandwidth of zero marks a link that has not been stated; a stated one is always above zero.
  problem.memory_node_count_ = nodes;
  problem.links_.assign(nodes * nodes, ProblemLink{0.0, 0.0});
  for (std::size_t node = 0; node < nodes; ++node) problem.links_[node * nodes + node] = ProblemLink{};
  for (const StatedLink& stated : links_) {
    problem.links_[stated.from_node * nodes + stated.to_node] = stated.link;
  }
  const auto carries_bytes = [](const StatedEdge& stated) { return stated.edge.bytes > 0.0; };
  const auto carrier = std::find_if(edges_.begin(), edges_.end(), carries_bytes);
  if (carrier == edges_.end()) return;
  for (const ProblemDevice& from : devices_) {
    for (const ProblemDevice& to : devices_) {
      if (problem.link(from.memory_node, to.memory_node).bandwidth_bytes_per_second > 0.0) continue;
      throw InvalidArgument(fmt::format(
          "there is no link from memory node {} to {}, and the edge from task {} to {} "
          "carries {} bytes: state the link, with the figures of the whole route where "
          "it is indirect",
          from.memory_node, to.memory_node, carrier->source, carrier->target, carrier->edge.bytes));
    }
  }
}

void ProblemBuilder::set_edges(Problem& problem) const {
  const std::size_t edges = edges_.size();
  problem.first_successor_.assign(std::size_t{task_count_} + 1, 0);
  problem.first_incoming_.assign(std::size_t{task_count_} + 1, 0);
  for (const StatedEdge& stated : edges_) {
    ++problem.first_successor_[stated.source + 1];
    ++problem.first_incoming_[stated.target + 1];
  }
  counts_to_offsets(problem.first_successor_);
  counts_to_offsets(problem.first_incoming_);

  problem.edge_source_.resize(edges);
  problem.edge_target_.resize(edges);
  problem.edges_.resize(edges);
  problem.incoming_edge_.resize(edges);
  std::vector<std::uint32_t> next = problem.first_successor_;
  for (const StatedEdge& stated : edges_) {
    const std::uint32_t edge = next[stated.source]++;
    problem.edge_source_[edge] = stated.source;
    problem.edge_target_[edge] = stated.target;
    problem.edges_[edge] = stated.edge;
  }
  next = problem.first_incoming_;
  for (std::uint32_t edge = 0; edge < edges; ++edge) {
    problem.incoming_edge_[next[problem.edge_target_[edge]]++] = edge;
  }
}

}  // namespace hocket
