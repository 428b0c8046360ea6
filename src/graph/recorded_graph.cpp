// SPDX-License-Identifier: Apache-2.0
#include "graph/recorded_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hocket::detail {

// ---- runs by number --------------------------------------------------------------------------------------------------

std::optional<std::uint32_t> RunTable::add(GraphRun& run) {
  const std::lock_guard lock(mutex_);
  std::uint32_t number = used_;
  if (!unused_.empty()) {
    number = unused_.back();
    unused_.pop_back();
  } else if (used_ == kMost) {
    return std::nullopt;
  } else {
    ++used_;
  }
  runs_[number].store(&run, std::memory_order_release);
  return number;
}

void RunTable::remove(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  runs_[number].store(nullptr, std::memory_order_relaxed);
  unused_.push_back(number);
}

GraphRun::~GraphRun() {
  for (TaskNode* node : nodes) release_reference(node);
}

// ---- recording -------------------------------------------------------------------------------------------------------

RecordedGraph::~RecordedGraph() {
  for (const auto& run : runs_)
    if (run->counters) table_->remove(run->number);
  runs_.clear();
  tasks_.clear();
  for (const auto& entry : accesses_) entry.first->release();
}

Task RecordedGraph::add(const TaskRef& task, std::string problem, const std::vector<Task>& after) {
  const std::lock_guard lock(mutex_);
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
  if (!problem.empty()) problems_.emplace(index_of_new, std::move(problem));
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
  tasks_[task]->for_each_operand([&](const Region& region, Access access) {
    Datum& datum = region.datum();
    const auto [entry, made] = accesses_.try_emplace(&datum, datum.whole().box(), RecordedState{});
    if (made) datum.add_reference();
    auto& parts = entry->second;
    for (const std::uint32_t i : parts.cover(region.box(), region.slot())) {
      RecordedState& state = parts[i].state;
      const auto bytes = static_cast<double>(parts[i].box.shape.elements() * datum.element().bytes);
      if (state.writer != kNone)
        arrow(state.writer, task, reads(access), reads(access) ? bytes : 0.0);
      else if (reads(access))
        state.read_first = true;
      if (writes(access)) {
        for (const std::uint32_t reader : state.readers) arrow(reader, task, false, 0.0);
        state.readers.clear();
        state.writer = task;
      } else if (state.readers.empty() || state.readers.back() != task) {
        state.readers.push_back(task);
      }
    }
  });
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
      roots_.push_back(t);
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
      DataAccess operand{};
      operand.region = &datum->region(parts[i].box);
      operand.access = state.writer == kNone ? Access::Read
                       : state.read_first    ? Access::ReadWrite
                                             : Access::Write;
      footprint_.push_back(operand);
    }
  make_light_tasks();
  arrows_.shrink_to_fit();
  tasks_.shrink_to_fit();
  sealed_ = true;
}

/// Lays out what light runs need, where no task needs a decision.
void RecordedGraph::make_light_tasks() {
  light_ = !tasks_.empty();
  std::uint64_t arguments = 0;
  for (const TaskRef& task : tasks_) {
    light_ = light_ && task->has(TaskNode::kPlain) && task->priority() == 0;
    arguments += task->type->parameter_count + (task->type->one_off ? 1 : 0);
  }
  light_ = light_ && arguments <= LightTask::kMostArguments;
  if (!light_) return;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    TaskNode& task = *tasks_[t];
    const TaskType& type = *task.type;
    LightTask light;
    light.type = &type;
    light.first_argument = static_cast<std::uint32_t>(light_arguments_.size());
    light.has_work =
        task.prepared() != nullptr && task.prepared()->has_work.load(std::memory_order_relaxed) ? 1 : 0;
    light.first_successor = first_successor_[t];
    light_tasks_.push_back(light);
    if (type.one_off) light_arguments_.push_back(task.storage());
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < type.parameter_count; ++i)
      light_arguments_.push_back(type.parameters[i].is_data
                                     ? static_cast<const void*>(task.regions()[next++])
                                     : static_cast<const void*>(task.storage() + type.scalar_offsets[i]));
  }
  light_tasks_.emplace_back().first_successor = first_successor_[tasks_.size()];
  light_tasks_.shrink_to_fit();
  light_arguments_.shrink_to_fit();
}

GraphRun& RecordedGraph::prepare_run(TaskRef end, TaskNode& start) {
  GraphRun* run = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto idle =
        std::find_if(runs_.begin(), runs_.end(), [](const auto& candidate) { return !candidate->busy; });
    if (idle != runs_.end()) {
      run = idle->get();
    } else {
      runs_.push_back(std::make_unique<GraphRun>(*this));
      run = runs_.back().get();
    }
    run->busy = true;
  }
  run->id = end->id;
  run->planned = false;
  run->start = &start;
  start.set_graph_run(run);
  end->set_graph_run(run);
  run->end = std::move(end);
  run->unfinished.store(1, std::memory_order_relaxed);
  run->keeps_alive = shared_from_this();
  return *run;
}

bool RecordedGraph::make_light(GraphRun& run) {
  const std::size_t tasks = tasks_.size();
  if (!run.counters) {
    const std::optional<std::uint32_t> number = table_->add(run);
    if (!number) return false;
    run.number = *number;
    run.counters = std::make_unique<std::uint32_t[]>(tasks);
  }
  std::copy_n(in_degree_.begin(), tasks, run.counters.get());
  run.remaining.store(static_cast<std::int64_t>(tasks) + 1, std::memory_order_relaxed);
  run.spoilt.store(nullptr, std::memory_order_relaxed);
  run.spoilt_memory.reset();
  run.end->pending.store(1, std::memory_order_relaxed);
  return true;
}

void RecordedGraph::make_nodes(GraphRun& run, graph::BlockCache& blocks) {
  const std::size_t tasks = tasks_.size();
  if (run.nodes.empty() && tasks != 0) {
    for (std::size_t t = 0; t < tasks; ++t) {
      auto* const node = TaskNode::make(blocks);  // its one reference is the run's
      TaskNode& recorded = *tasks_[t];
      run.nodes.push_back(node);
      node->type = recorded.type;
      if (const PreparedCodelet* const codelet = node->prepared()) count_codelet_users(*codelet, 1);
      node->copy_place(recorded);
      if (recorded.has(TaskNode::kPlain)) {
        node->flags |= TaskNode::kPlain;
        void** const regions = node->make_regions(recorded.region_count);
        std::copy_n(recorded.regions(), recorded.region_count, regions);
      }
      node->flags |= TaskNode::kRunNode;
      node->share_storage(recorded);
      TaskExtra& extra = node->extra();
      extra.graph_run = &run;
      if (const TaskExtra* const from = recorded.extra_or_null()) {
        extra.name = from->name;
        extra.operands = from->operands;
      }
    }
    for (std::size_t t = 0; t < tasks; ++t)
      run.nodes[t]->extra().static_successors = {run.nodes.data(), successors_.data() + first_successor_[t],
                                                 successors_.data() + first_successor_[t + 1]};
  }
  for (std::size_t t = 0; t < tasks; ++t) {
    TaskNode& node = *run.nodes[t];
    TaskExtra& extra = node.extra();
    node.id = run.id;
    node.pending.store(in_degree_[t], std::memory_order_relaxed);
    node.state.store(TaskState::Waiting, std::memory_order_relaxed);
    node.requests.store(0, std::memory_order_relaxed);
    node.begun.store(0, std::memory_order_relaxed);
    node.verdict.store(TaskNode::kOpen, std::memory_order_relaxed);
    node.successors.store(0, std::memory_order_relaxed);
    extra.claimed.store(false, std::memory_order_relaxed);
    extra.decided.store(false, std::memory_order_relaxed);
    release_reference(extra.failed_by.exchange(nullptr, std::memory_order_relaxed));
    extra.error = nullptr;
    extra.transfer_failure = nullptr;
    extra.by_policy = false;
    extra.in_policy = false;
    add_reference(&node);  // the engine's, for this run
    const TaskExtra* const from = tasks_[t]->extra_or_null();
    extra.eligible = from != nullptr ? from->eligible : 0;
    extra.priority = tasks_[t]->priority();
  }
  run.start->extra().static_successors = {run.nodes.data(), successors_.data() + first_successor_[tasks],
                                          successors_.data() + first_successor_[tasks + 1]};
  run.end->pending.store(in_degree_[tasks + 1], std::memory_order_relaxed);
  run.unfinished.store(tasks + 1, std::memory_order_relaxed);
}

void RecordedGraph::over(GraphRun& run) noexcept {
  run.end = TaskRef();
  const std::shared_ptr<RecordedGraph> graph = std::move(run.keeps_alive);
  const std::lock_guard lock(graph->mutex_);
  run.busy = false;
}

std::vector<GraphDiagnostic> RecordedGraph::validate() const {
  const std::lock_guard lock(mutex_);
  using Severity = GraphDiagnostic::Severity;
  std::vector<GraphDiagnostic> found;
  for (const auto& [task, problem] : problems_) found.push_back({Severity::Error, problem});
  // What is read must have been written before, by the graph or by an earlier task.
  std::map<Datum*, graph::BoxMap<bool>> written;
  for (const TaskRef& task : tasks_) {
    task->for_each_operand([&](const Region& region, Access access) {
      Datum& datum = region.datum();
      const auto [entry, made] = written.try_emplace(&datum, datum.whole().box(), false);
      graph::BoxMap<bool>& parts = entry->second;
      if (made)
        with_accesses(datum, [&datum, &parts] {
          datum.for_each_access([&](const Box& box, const AccessState& state) {
            if (!state.written) return;
            for (const std::uint32_t part : parts.cover(box)) parts[part].state = true;
          });
        });
      if (!reads(access)) return;
      for (const std::uint32_t part : parts.cover(region.box(), region.slot()))
        if (!parts[part].state) {
          found.push_back(
              {Severity::Error,
               fmt::format("task '{}' reads data '{}', part {} of which neither an earlier task of the "
                           "graph nor anything before it has written; write it first",
                           task->display_name(), region.name(), to_string(parts[part].box))});
          break;
        }
    });
    task->for_each_operand([&](const Region& region, Access access) {
      if (!writes(access)) return;
      auto& parts = written.at(&region.datum());
      for (const std::uint32_t part : parts.cover(region.box(), region.slot())) parts[part].state = true;
    });
  }
  // A result that is written over before anything reads it was made for nothing.
  std::vector<char> has_value_successor(tasks_.size(), 0);
  for (const Arrow& a : arrows_)
    if (a.value) has_value_successor[a.from] = 1;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    if (has_value_successor[t] != 0) continue;
    bool lost = false;
    tasks_[t]->for_each_operand([&](const Region& region, Access access) {
      if (!writes(access)) return;
      const auto& parts = accesses_.at(&region.datum());
      for (std::uint32_t i = 0; i < parts.size(); ++i)
        if (region.box().contains(parts[i].box) && parts[i].state.writer != t) lost = true;
    });
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
  const std::lock_guard lock(mutex_);
  std::string text = "digraph hocket {\n  node [shape=box, style=rounded];\n";
  for (std::size_t t = 0; t < tasks_.size(); ++t)
    text += fmt::format("  t{} [label={}];\n", t, quoted(tasks_[t]->display_name()));
  for (const Arrow& a : arrows_)
    text += fmt::format("  t{} -> t{}{};\n", a.from, a.to, a.value ? "" : " [style=dashed]");
  return text + "}\n";
}

}  // namespace hocket::detail
