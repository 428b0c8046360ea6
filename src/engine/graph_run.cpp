// SPDX-License-Identifier: Apache-2.0
/// Recording, planning and running graphs.
#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "graph/inference.hpp"

namespace hocket::detail {

Task record_task(RecordedGraph& graph, const std::shared_ptr<const CodeletCore>& codelet,
                 TaskOptions&& options, std::span<const PackedArgument> arguments) {
  Engine& engine = graph.engine();
  auto* const node = new TaskNode;
  TaskRef reference(node);
  release_reference(node);  // `reference` holds it
  engine.describe(*node, codelet, options, arguments);
  std::string problem;
  try {
    engine.lifecycle().find_eligible(*node, engine.machine().matching(options.on));
  } catch (const NoEligibleDevice& error) {
    problem = error.what();
  } catch (const OutOfMemory& error) {
    problem = error.what();
  }
  return graph.add(reference, std::move(problem), options.after);
}

Task Engine::run(RecordedGraph& graph, const Plan* plan) {
  graph.seal();
  if (&graph.engine() != this) throw InvalidArgument("this graph was recorded by another runtime");
  for (std::size_t t = 0; t < graph.size(); ++t)
    if (!graph.problem(t).empty()) throw NoEligibleDevice(graph.problem(t));
  if (plan != nullptr && plan->schedule.placements.size() != graph.size())
    throw InvalidArgument(fmt::format("this plan is for a graph of {} tasks, not one of {}",
                                      plan->schedule.placements.size(), graph.size()));

  auto* const end = new TaskNode;  // its one reference is the engine's
  Task result(end);
  end->kind = TaskKind::Marker;
  end->engine = this;
  end->id = next_id();
  end->extra().name = "run of a graph";
  GraphRun& run = graph.prepare_run(TaskRef(end));
  if (plan != nullptr) {
    std::vector<std::uint32_t> order(graph.size());
    for (std::uint32_t t = 0; t < order.size(); ++t) order[t] = t;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan->schedule.placements[a].start_seconds < plan->schedule.placements[b].start_seconds;
    });
    for (std::size_t position = 0; position < order.size(); ++position) {
      TaskNode& node = run.nodes[order[position]];
      node.eligible = std::uint64_t{1} << plan->schedule.placements[order[position]].device;
      // Earlier in the plan, more urgent; never 0, so that none overtakes in the fast lane.
      node.priority = static_cast<int>(order.size() - position);
    }
  }
  lifecycle_.active.fetch_add(1, std::memory_order_relaxed);  // the submission itself
  try {
    graph::infer(*run.start, *end, graph.footprint());
  } catch (...) {
    abandon(run);
    lifecycle_.active.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  lifecycle_.outstanding.fetch_add(2, std::memory_order_relaxed);  // start and end
  if (TaskNode* const parent = engine::CpuWorkers::current_task();
      parent != nullptr && parent->engine == this) {
    add_reference(parent);
    end->parent = parent;
    parent->live_children.fetch_add(1, std::memory_order_relaxed);
  }
  TaskNode& start = *run.start;
  lifecycle_.submitted(*end);
  lifecycle_.submitted(start);
  lifecycle_.active.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

/// A run that was prepared but cannot start: gives back what the engine would have.
void Engine::abandon(GraphRun& run) noexcept {
  TaskNode* const end = run.end.get();
  for (TaskNode* node = run.nodes.get(); node <= run.start; ++node) release_reference(node);
  RecordedGraph::over(run);
  release_reference(end);
}

Plan Engine::plan(const RecordedGraph& graph, std::string_view planner_name) {
  if (&graph.engine() != this) throw InvalidArgument("this graph was recorded by another runtime");
  const std::unique_ptr<Planner> planner = make_planner(planner_name);
  const_cast<RecordedGraph&>(graph).seal();
  ProblemBuilder builder;
  for (const DeviceInfo& device : machine_.devices()) {
    const bool threads = device.properties.execution == Execution::CallingThread;
    builder.add_device(
        {threads ? device.properties.concurrency : 1, static_cast<std::uint32_t>(index(device.memory_node))});
  }
  // Through the host, where neither end is the host: both links.
  for (const platform::MemoryNode& from : machine_.nodes()) {
    for (const platform::MemoryNode& to : machine_.nodes()) {
      if (from.id == to.id) continue;
      ProblemLink link{0.0, 0.0};
      double seconds_per_byte = 0.0;
      for (const platform::MemoryNode* node : {&from, &to}) {
        if (node->device == nullptr) continue;
        link.latency_seconds += node->device->properties().link_latency.count;
        seconds_per_byte += 1.0 / node->device->properties().link_bytes_per_second;
      }
      link.bandwidth_bytes_per_second = 1.0 / seconds_per_byte;
      builder.set_link(static_cast<std::uint32_t>(index(from.id)), static_cast<std::uint32_t>(index(to.id)),
                       link);
    }
  }
  for (std::size_t t = 0; t < graph.size(); ++t) {
    if (!graph.problem(t).empty()) throw NoEligibleDevice(graph.problem(t));
    std::vector<double> costs;
    for (const DeviceInfo& device : machine_.devices()) {
      const bool eligible = (graph.task(t).eligible >> index(device.id) & 1) != 0;
      costs.push_back(eligible ? lifecycle_.estimate(graph.task(t), device).execution.count : kNotAllowed);
    }
    builder.add_task(costs);
  }
  for (const RecordedGraph::Arrow& arrow : graph.arrows())
    builder.add_edge(arrow.from, arrow.to, {arrow.bytes, 0.0});
  Problem problem = builder.build();
  Schedule schedule = planner->plan(problem);
  if (const std::vector<Violation> wrong = validate(problem, schedule); !wrong.empty())
    throw Error(fmt::format("planner '{}' made a schedule that breaks its problem's rules: {}", planner_name,
                            wrong.front().message));
  return {std::string(planner_name), std::move(problem), std::move(schedule)};
}

}  // namespace hocket::detail
