// SPDX-License-Identifier: Apache-2.0
/// Recording, planning and running graphs.
#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "graph/inference.hpp"

namespace hocket::detail {

Task record_task(RecordedGraph& graph, const Submission& submission) {
  Engine* const engine = graph.engine();
  if (engine == nullptr) throw InvalidArgument("the runtime that this graph was recorded by is gone");
  engine::ThreadContext& here = engine->contexts().here();
  const TaskRef reference = TaskRef::adopt(TaskNode::make(here.blocks));
  TaskNode& node = *reference;
  node.state.store(TaskState::Recorded,
                   std::memory_order_relaxed);  // its captures go with it, whatever happens
  std::string problem;
  try {
    engine->describe(here, node, submission);
  } catch (const NoEligibleDevice& error) {
    problem = error.what();
  } catch (const OutOfMemory& error) {
    problem = error.what();
  }
  static const std::vector<Task> none;
  return graph.add(reference, std::move(problem),
                   submission.options != nullptr ? submission.options->after : none);
}

/// Throws `InvalidArgument` where a plan is for another graph, or sends a task to a device that cannot run it.
void Engine::check_plan(const RecordedGraph& graph, const Plan& plan) const {
  const std::vector<Placement>& placements = plan.schedule.placements;
  if (placements.size() != graph.size())
    throw InvalidArgument(
        fmt::format("this plan is for a graph of {} tasks, not one of {}", placements.size(), graph.size()));
  const std::weak_ptr<const RecordedGraph> none;
  const bool for_any = !plan.graph.owner_before(none) && !none.owner_before(plan.graph);
  if (!for_any && plan.graph.lock().get() != &graph)
    throw InvalidArgument("this plan is for another graph; make one for this graph with Runtime::plan");
  const std::span<const DeviceInfo> devices = machine_.devices();
  for (std::size_t t = 0; t < graph.size(); ++t) {
    const std::size_t device = placements[t].device;
    if (device >= devices.size() || (lifecycle_.eligible(graph.task(t)) >> device & 1) == 0)
      throw InvalidArgument(
          fmt::format("this plan sends task '{}' to {}, which cannot run it", graph.task(t).display_name(),
                      device < devices.size() ? "device " + devices[device].label
                                              : fmt::format("device {}, of {}", device, devices.size())));
  }
}

Task Engine::run(RecordedGraph& graph, const Plan* plan) {
  if (graph.engine() != this) throw InvalidArgument("this graph was recorded by another runtime");
  graph.seal();
  if (graph.has_problems())
    for (std::size_t t = 0; t < graph.size(); ++t)
      if (!graph.problem(t).empty()) throw NoEligibleDevice(std::string(graph.problem(t)));
  if (plan != nullptr) check_plan(graph, *plan);

  engine::ThreadContext& here = contexts_->here();
  auto* const end = TaskNode::make(here.blocks);  // the one reference of each is the engine's
  auto* const start = TaskNode::make(here.blocks);
  Task result(end);
  end->kind = TaskKind::Marker;
  end->flags |= TaskNode::kEndsRun;
  end->id = next_id(here);
  start->kind = TaskKind::Marker;
  start->id = end->id;
  GraphRun& run = graph.prepare_run(TaskRef(end), *start);
  if (plan != nullptr) {
    graph.make_nodes(run, here.blocks);
    run.planned = true;
    std::vector<std::uint32_t> order(graph.size());
    for (std::uint32_t t = 0; t < order.size(); ++t) order[t] = t;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan->schedule.placements[a].start_seconds < plan->schedule.placements[b].start_seconds;
    });
    for (std::size_t position = 0; position < order.size(); ++position) {
      TaskExtra& extra = run.nodes[order[position]]->extra();
      extra.eligible = std::uint64_t{1} << plan->schedule.placements[order[position]].device;
      // Earlier in the plan, more urgent; never 0, so that none overtakes in the fast lane.
      extra.priority = static_cast<int>(order.size() - position);
    }
  }
  if (TaskNode* const parent = current_task(here); parent != nullptr) {
    add_reference(parent);
    end->set_parent(parent);
    parent->pending.fetch_add(1, std::memory_order_relaxed);
  }
  here.activated.add(1);  // the submission itself
  here.submitted.add(2);  // start and end
  bool ready = false;
  try {
    const engine::AccessRights::Section section(access_rights_, here);
    ready = graph::infer(here.inference, *start, *end, graph.footprint(), {}, section.alone());
  } catch (...) {
    here.finished.add(2);
    here.deactivated.add(1);
    if (TaskNode* const parent = end->parent(); parent != nullptr)
      parent->pending.fetch_sub(1, std::memory_order_relaxed);
    abandon(run);
    throw;
  }
  graph::release_dropped(here.inference);
  if (ready) lifecycle_.ready(here, *start);
  here.deactivated.add(1);
  return result;
}

/// A run that was prepared but cannot start: gives back what the engine would have.
void Engine::abandon(GraphRun& run) noexcept {
  TaskNode* const end = run.end.get();
  TaskNode* const start = run.start;
  if (run.planned)
    for (TaskNode* node : run.nodes) node->references.fetch_sub(1, std::memory_order_relaxed);
  RecordedGraph::over(run);
  release_reference(start);
  release_reference(end);
}

void Engine::marker_ready(TaskNode& task, bool withdrawn) {
  GraphRun& run = *task.graph_run();
  const TaskState state = withdrawn ? TaskState::Cancelled : TaskState::Done;
  if (task.has(TaskNode::kEndsRun)) {
    lifecycle_.end(task, state, nullptr);
    return;
  }
  bool light = !withdrawn && !run.planned && lean_ && run.graph.light();
  if (light && !memory_.all_at_home())
    for (const DataAccess& operand : run.graph.footprint())
      light = light && operand.region->datum().host_only.load(std::memory_order_relaxed);
  if (light && run.graph.make_light(run)) {
    // The start may be closed later than the run is over: it must not know it any more.
    task.set_graph_run(nullptr);
    lifecycle_.end(task, state, nullptr);
    cpu_workers_.launch(run);
    return;
  }
  if (!run.planned) run.graph.make_nodes(run, contexts_->here().blocks);
  lifecycle_.end(task, state, nullptr);
}

Plan Engine::plan(const RecordedGraph& graph, std::string_view planner_name) {
  if (graph.engine() != this) throw InvalidArgument("this graph was recorded by another runtime");
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
    if (!graph.problem(t).empty()) throw NoEligibleDevice(std::string(graph.problem(t)));
    std::vector<double> costs;
    for (const DeviceInfo& device : machine_.devices()) {
      const bool eligible = (lifecycle_.eligible(graph.task(t)) >> index(device.id) & 1) != 0;
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
  return {std::string(planner_name), std::move(problem), std::move(schedule), graph.weak_from_this()};
}

}  // namespace hocket::detail
