// SPDX-License-Identifier: Apache-2.0
#include "graph/recorded_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hocket::detail {

Task RecordedGraph::add(const TaskRef& task, std::string problem, const std::vector<Task>& after) {
  if (sealed_)
    throw InvalidArgument(
        "this graph has been run or planned already and can no longer be changed; record a new one");
  const auto index_of_new = static_cast<std::uint32_t>(tasks_.size());
  for (const Task& earlier : after) {
    const TaskNode* node = earlier.node();
    const bool ours =
        node != nullptr && index(node->id) < tasks_.size() && tasks_[index(node->id)].get() == node;
    if (!ours)
      throw InvalidArgument(
          fmt::format("task '{}' of a graph is to run after a task that is not of the same graph; "
                      "order the graph as a whole instead: it follows what its data was used by",
                      task->display_name()));
  }
  task->id = TaskId{index_of_new};
  task->state.store(TaskState::Recorded, std::memory_order_relaxed);
  tasks_.push_back(task);
  problems_.push_back(std::move(problem));
  const std::size_t first = arrows_.size();
  infer(index_of_new);
  for (const Task& earlier : after)
    arrow(static_cast<std::uint32_t>(index(earlier.node()->id)), index_of_new, true, 0.0);
  // One arrow for each predecessor: it carries a value if any did, and all their bytes.
  const auto begin = arrows_.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, arrows_.end(), [](const Arrow& a, const Arrow& b) { return a.from < b.from; });
  auto kept = begin;
  for (auto it = begin; it != arrows_.end(); ++it) {
    if (kept != begin && (kept - 1)->from == it->from) {
      (kept - 1)->value = (kept - 1)->value || it->value;
      (kept - 1)->bytes += it->bytes;
    } else {
      *kept++ = *it;
    }
  }
  arrows_.erase(kept, arrows_.end());
  return Task(task.get());
}

void RecordedGraph::arrow(std::uint32_t from, std::uint32_t to, bool value, double bytes) {
  if (from != to) arrows_.push_back({from, to, value, bytes});
}

/// The rules of streaming submission (see graph/inference.hpp), on numbers instead of nodes.
void RecordedGraph::infer(std::uint32_t task) {
  for (const Operand& operand : tasks_[task]->operands) {
    Datum& datum = operand.region->datum();
    const auto [entry, made] = accesses_.try_emplace(&datum, datum.whole(), RecordedState{});
    auto& parts = entry->second;
    for (const std::uint32_t i : parts.cover(operand.region->box(), operand.region->slot())) {
      RecordedState& state = parts[i].state;
      const auto bytes =
          static_cast<double>(parts[i].box.shape.elements() * datum.description().element.bytes);
      if (state.writer != kNone)
        arrow(state.writer, task, reads(operand.access), reads(operand.access) ? bytes : 0.0);
      else if (reads(operand.access))
        state.read_first = true;
      if (writes(operand.access)) {
        for (const std::uint32_t reader : state.readers) arrow(reader, task, false, 0.0);
        state.readers.clear();
        state.writer = task;
      } else if (state.readers.empty() || state.readers.back() != task) {
        state.readers.push_back(task);
      }
    }
  }
}

void RecordedGraph::seal() {
  const std::lock_guard lock(mutex_);
  if (sealed_) return;
  const std::size_t tasks = tasks_.size();
  in_degree_.assign(tasks + 2, 0);
  first_successor_.assign(tasks + 2, 0);
  for (const Arrow& a : arrows_) {
    ++in_degree_[a.to];
    ++first_successor_[a.from + 1];
  }
  // Sinks are followed by the end, roots by the start; an empty graph's start by its end.
  for (std::size_t t = 0; t < tasks; ++t)
    if (first_successor_[t + 1] == 0) {
      first_successor_[t + 1] = 1;
      ++in_degree_[tasks + 1];
    }
  std::vector<std::uint32_t> roots;
  for (std::uint32_t t = 0; t < tasks; ++t)
    if (in_degree_[t] == 0) {
      roots.push_back(t | kValueEdge);
      in_degree_[t] = 1;
    }
  if (tasks == 0) {
    roots.push_back(kEndOfRun);
    in_degree_[1] = 1;
  }
  first_successor_[tasks + 1] = static_cast<std::uint32_t>(roots.size());
  for (std::size_t t = 1; t < first_successor_.size(); ++t) first_successor_[t] += first_successor_[t - 1];
  successors_.assign(first_successor_.back(), kEndOfRun);
  std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
  for (const Arrow& a : arrows_) successors_[next[a.from]++] = a.to | (a.value ? kValueEdge : 0);
  std::copy(roots.begin(), roots.end(), successors_.begin() + first_successor_[tasks]);
  for (auto& [datum, parts] : accesses_)
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      const RecordedState& state = parts[i].state;
      if (state.writer == kNone && !state.read_first) continue;
      Operand operand;
      operand.region = &datum->region(parts[i].box);
      operand.access = state.writer == kNone ? Access::Read
                       : state.read_first    ? Access::ReadWrite
                                             : Access::Write;
      footprint_.push_back(operand);
    }
  sealed_ = true;
}

std::unique_ptr<GraphRun> RecordedGraph::make_run() const {
  auto run = std::make_unique<GraphRun>();
  const std::size_t tasks = tasks_.size();
  run->nodes = std::make_unique<TaskNode[]>(tasks + 1);
  for (std::size_t t = 0; t <= tasks; ++t) {
    TaskNode& node = run->nodes[t];
    node.engine = engine_;
    node.graph_run = run.get();
    node.static_successors = {run->nodes.get(), successors_.data() + first_successor_[t],
                              successors_.data() + first_successor_[t + 1]};
    if (t == tasks) break;
    const TaskNode& recorded = *tasks_[t];
    node.codelet = recorded.codelet;
    node.operands = recorded.operands;
    for (const Operand& operand : node.operands) operand.region->datum().add_reference();
    node.scalars = recorded.scalars;
    node.scalar_offsets = recorded.scalar_offsets;
    node.plain = recorded.plain;
    node.device = recorded.device;
    node.location = recorded.location;
    if (recorded.details) node.extra().name = recorded.details->name;
  }
  run->start = &run->nodes[tasks];
  run->start->kind = TaskKind::Marker;
  return run;
}

GraphRun& RecordedGraph::prepare_run(TaskRef end) {
  GraphRun* run = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto idle =
        std::find_if(runs_.begin(), runs_.end(), [](const auto& candidate) { return !candidate->busy; });
    if (idle != runs_.end()) {
      run = idle->get();
    } else {
      runs_.push_back(make_run());
      run = runs_.back().get();
    }
    run->busy = true;
  }
  const std::size_t tasks = tasks_.size();
  for (std::size_t t = 0; t <= tasks; ++t) {
    TaskNode& node = run->nodes[t];
    node.id = end->id;
    node.pending.store(t == tasks ? 1 : in_degree_[t], std::memory_order_relaxed);
    node.state.store(TaskState::Waiting, std::memory_order_relaxed);
    node.claimed.store(false, std::memory_order_relaxed);
    node.cancel_requested.store(false, std::memory_order_relaxed);
    node.decided.store(false, std::memory_order_relaxed);
    node.successors.store(nullptr, std::memory_order_relaxed);
    release_reference(node.failed_by.exchange(nullptr, std::memory_order_relaxed));
    node.error = nullptr;
    node.transfer_failure = nullptr;
    node.by_policy = false;
    node.in_policy = false;
    add_reference(&node);  // the engine's, for this run
    if (t < tasks) {
      node.eligible = tasks_[t]->eligible;
      node.priority = tasks_[t]->priority;
    }
  }
  // One more than its predecessors: `submitted` takes the last one off, once the run has been linked to its past.
  end->pending.store(in_degree_[tasks + 1] + 1, std::memory_order_relaxed);
  end->graph_run = run;
  run->end = std::move(end);
  run->unfinished.store(tasks + 2, std::memory_order_relaxed);
  run->keeps_alive = shared_from_this();
  return *run;
}

void RecordedGraph::over(GraphRun& run) noexcept {
  run.end = TaskRef();
  const std::shared_ptr<RecordedGraph> graph = std::move(run.keeps_alive);
  const std::lock_guard lock(graph->mutex_);
  run.busy = false;
}

std::vector<GraphDiagnostic> RecordedGraph::validate() const {
  using Severity = GraphDiagnostic::Severity;
  std::vector<GraphDiagnostic> found;
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    if (!problems_[t].empty()) found.push_back({Severity::Error, problems_[t]});
  // What is read must have been written before, by the graph or by an earlier task.
  std::map<Datum*, graph::BoxMap<bool>> written;
  for (const TaskRef& task : tasks_) {
    for (const Operand& operand : task->operands) {
      Datum& datum = operand.region->datum();
      const auto [entry, made] = written.try_emplace(&datum, datum.whole(), false);
      if (made) {
        const std::lock_guard lock(datum.access_mutex);
        for (std::uint32_t i = 0; i < datum.accesses.size(); ++i) {
          if (!datum.accesses[i].state.written) continue;
          // The slot is only a cache key: one of its own for each part of the datum.
          for (const std::uint32_t part : entry->second.cover(datum.accesses[i].box, 1000000 + i))
            entry->second[part].state = true;
        }
      }
      if (!reads(operand.access)) continue;
      for (const std::uint32_t part : entry->second.cover(operand.region->box(), operand.region->slot()))
        if (!entry->second[part].state) {
          found.push_back(
              {Severity::Error,
               fmt::format("task '{}' reads data '{}', part {} of which neither an earlier task of the "
                           "graph nor anything before it has written; write it first",
                           task->display_name(), operand.region->name(),
                           to_string(entry->second[part].box))});
          break;
        }
    }
    for (const Operand& operand : task->operands) {
      if (!writes(operand.access)) continue;
      auto& parts = written.at(&operand.region->datum());
      for (const std::uint32_t part : parts.cover(operand.region->box(), operand.region->slot()))
        parts[part].state = true;
    }
  }
  // A result that is written over before anything reads it was made for nothing.
  std::vector<char> has_value_successor(tasks_.size(), 0);
  for (const Arrow& a : arrows_)
    if (a.value) has_value_successor[a.from] = 1;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    if (has_value_successor[t] != 0 || tasks_[t]->operands.empty()) continue;
    bool lost = false;
    for (const Operand& operand : tasks_[t]->operands) {
      if (!writes(operand.access)) continue;
      const auto& parts = accesses_.at(&operand.region->datum());
      for (std::uint32_t i = 0; i < parts.size(); ++i)
        if (operand.region->box().contains(parts[i].box) && parts[i].state.writer != t) lost = true;
    }
    if (lost)
      found.push_back(
          {Severity::Warning, fmt::format("the result of task '{}' is written over before anything reads "
                                          "it; leave the task out or read its result",
                                          tasks_[t]->display_name())});
  }
  return found;
}

std::string RecordedGraph::dot() const {
  const auto quoted = [](const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + "\"";
  };
  std::string text = "digraph hocket {\n  node [shape=box, style=rounded];\n";
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    text += fmt::format("  t{} [label={}];\n", t, quoted(tasks_[t]->display_name()));
  for (const Arrow& a : arrows_)
    text += fmt::format("  t{} -> t{}{};\n", a.from, a.to, a.value ? "" : " [style=dashed]");
  return text + "}\n";
}

}  // namespace hocket::detail
