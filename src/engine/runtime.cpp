// SPDX-License-Identifier: Apache-2.0
/// The public classes: thin covers over the engine.
#include <fmt/format.h>

#include <hocket/runtime.hpp>

#include "engine/engine.hpp"

namespace hocket {

using detail::TaskNode;

// ---- Runtime -----------------------------------------------------------------------------------------------------------

Runtime::Runtime(const RuntimeOptions& options) : engine_(std::make_unique<detail::Engine>(options)) {}
Runtime::~Runtime() = default;

namespace {

detail::Submission packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions& options,
                          std::span<const detail::PackedArgument> arguments) {
  detail::Submission submission;
  submission.codelet = &codelet;
  submission.arguments = arguments;
  submission.options = &options;
  return submission;
}

}  // namespace

Task Runtime::submit_packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions&& options,
                            std::span<const detail::PackedArgument> arguments) {
  return engine_->submit(packed(codelet, options, arguments));
}
Task Runtime::submit_one(const detail::Submission& submission) { return engine_->submit(submission); }

void Runtime::wait() { engine_->wait_all(); }
void Runtime::cancel() { engine_->cancel_all(); }

Graph Runtime::record(const std::function<void(Graph&)>& build) {
  Graph graph(std::make_shared<detail::RecordedGraph>(engine_->runs()));
  build(graph);
  return graph;
}

Plan Runtime::plan(const Graph& graph, std::string_view planner) {
  return engine_->plan(*graph.core(), planner);
}
Task Runtime::run(const Graph& graph) { return engine_->run(*graph.core(), nullptr); }
Task Runtime::run(const Graph& graph, const Plan& plan) { return engine_->run(*graph.core(), &plan); }

const std::vector<DeviceInfo>& Runtime::devices() const noexcept { return engine_->machine().devices(); }
std::string_view Runtime::policy() const noexcept { return engine_->lifecycle().policy_name(); }

Report Runtime::report() const { return engine_->report(); }
void Runtime::reset_report() { engine_->reset_report(); }

Explanation Runtime::why(const Task& task) const {
  if (!task || task.node()->engine() != engine_.get() || task.node()->type == nullptr)
    throw InvalidArgument("why() explains a submitted task of this runtime; this handle names none");
  return engine_->lifecycle().explain(*task.node());
}

detail::DataHandle Runtime::borrow(const void* memory, ElementType element, const Shape& shape,
                                   const std::optional<Strides>& strides, const DataOptions& options,
                                   bool read_only) {
  detail::DatumDescription description;
  description.name = options.name;
  description.element = element;
  description.shape = shape;
  description.borrowed = const_cast<void*>(memory);  // `read_only` keeps everybody from writing it
  description.read_only = read_only;
  description.permit_lossy = options.permit_lossy;
  const std::string what = options.name.empty() ? "data" : fmt::format("data '{}'", options.name);
  if (shape.elements() != 0 && memory == nullptr)
    throw InvalidArgument(fmt::format("{} of shape {} borrows a null pointer", what, to_string(shape)));
  description.strides = strides.value_or(dense_strides(shape));
  if (strides) {
    std::size_t least = 1;
    for (std::size_t d = shape.rank; d-- > 0;) {
      const bool contiguous = d + 1u == shape.rank && description.strides[d] != 1;
      if (contiguous || description.strides[d] < least)
        throw InvalidArgument(fmt::format(
            "{}: the stride of dimension {} is {}; the last stride must be 1, and each at least the "
            "extent times the stride of the next dimension ({})",
            what, d, description.strides[d], least));
      std::size_t bytes = 0;
      if (__builtin_mul_overflow(description.strides[d], shape.extent[d], &least) ||
          __builtin_mul_overflow(least, element.bytes, &bytes) || bytes > PTRDIFF_MAX)
        throw InvalidArgument(
            fmt::format("{}: with a stride of {} in dimension {}, of extent {}, it is larger than "
                        "the address space",
                        what, description.strides[d], d, shape.extent[d]));
    }
  }
  return engine_->make_data(std::move(description));
}

detail::DataHandle Runtime::own(ElementType element, const Shape& shape, const DataOptions& options) {
  detail::DatumDescription description;
  description.name = options.name;
  description.element = element;
  description.shape = shape;
  description.permit_lossy = options.permit_lossy;
  description.strides = dense_strides(shape);
  return engine_->make_data(std::move(description));
}

detail::HostAccessGrant Runtime::begin_access(const detail::DataHandle& handle, Access access) {
  return detail::begin_host_access(*engine_, handle, access);
}

// ---- Task --------------------------------------------------------------------------------------------------------------

namespace {

TaskNode& node_of(const Task& task) {
  if (!task) throw InvalidArgument("an empty Task handle names no task");
  return *task.node();
}

TaskNode& submitted_node(const Task& task) {
  TaskNode& node = node_of(task);
  if (task.state() == TaskState::Recorded)
    throw InvalidArgument(fmt::format("task '{}' is part of a graph; wait for a run of the graph instead",
                                      node.display_name()));
  return node;
}

/// Of a task that was not over just now.
detail::Engine& engine_of(const TaskNode& node) {
  if (detail::Engine* const engine = node.engine()) return *engine;
  throw Error(fmt::format("task '{}' can no longer run: its runtime is gone", node.display_name()));
}

}  // namespace

TaskId Task::id() const { return node_of(*this).id; }
std::string Task::name() const { return node_of(*this).display_name(); }
TaskState Task::state() const { return node_of(*this).state.load(std::memory_order_acquire); }

void Task::get() const {
  TaskNode& node = submitted_node(*this);
  // A task that is over may outlive its runtime; the engine is asked only while it must still be there.
  if (node.state.load(std::memory_order_acquire) == TaskState::Done) return;
  if (!node.over()) engine_of(node).wait_for(node, std::nullopt);
  if (node.state.load(std::memory_order_acquire) != TaskState::Done) detail::Engine::throw_failure(node);
}

bool Task::wait_for(Seconds limit) const {
  TaskNode& node = submitted_node(*this);
  if (!node.over() && !engine_of(node).wait_for(node, limit)) return false;
  get();
  return true;
}

bool Task::cancel() const {
  TaskNode& node = submitted_node(*this);
  return !node.over() && engine_of(node).cancel(node);
}

// ---- Graph -------------------------------------------------------------------------------------------------------------

Task Graph::submit_packed(const std::shared_ptr<const detail::CodeletCore>& codelet, TaskOptions&& options,
                          std::span<const detail::PackedArgument> arguments) {
  return detail::record_task(*core_, packed(codelet, options, arguments));
}
Task Graph::submit_one(const detail::Submission& submission) {
  return detail::record_task(*core_, submission);
}

std::size_t Graph::size() const noexcept { return core_->size(); }
std::size_t Graph::dependencies() const noexcept { return core_->dependencies(); }
std::vector<GraphDiagnostic> Graph::validate() const { return core_->validate(); }
std::string Graph::dot() const { return core_->dot(); }

}  // namespace hocket
