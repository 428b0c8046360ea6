// SPDX-License-Identifier: Apache-2.0
/// Submission: from the arguments of a call to a task that waits for its predecessors, or lies in a queue.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "engine/engine.hpp"
#include "graph/inference.hpp"

namespace hocket::detail {

void Engine::check_region(const TaskNode& task, std::span<const PackedArgument> arguments,
                          std::size_t i) const {
  Region* const region = arguments[i].region;
  if (region == nullptr)
    throw InvalidArgument(
        fmt::format("task '{}': argument {} is an empty Data handle; make the data with "
                    "Runtime::data first",
                    task.display_name(), i));
  throw InvalidArgument(
      fmt::format("task '{}': data '{}' (argument {}) belongs to another runtime, or one that "
                  "has ended; make it with the runtime that uses it",
                  task.display_name(), region->name(), i));
}

/// Whether argument `i` may stand beside the earlier ones.
void Engine::check_overlap(const TaskNode& task, const TaskType& type,
                           std::span<const PackedArgument> arguments, std::size_t i) const {
  const Region& region = *arguments[i].region;
  const Access access = type.parameters[i].access;
  for (std::size_t j = 0; j < i; ++j) {
    if (!type.parameters[j].is_data) continue;
    const Region& other = *arguments[j].region;
    if (&other.datum() != &region.datum() || !other.box().overlaps(region.box())) continue;
    const Access others = type.parameters[j].access;
    if (!writes(access) && !writes(others)) continue;
    if (&other == &region && reads(access) && reads(others)) continue;
    throw InvalidArgument(
        fmt::format("task '{}': arguments {} ('{}') and {} ('{}') overlap, and the kernel writes one of "
                    "them without reading "
                    "it or as another part; pass separate data",
                    task.display_name(), j, other.name(), i, region.name()));
  }
}

void Engine::check_after(const TaskNode& task, std::span<const Task> after) const {
  for (const Task& earlier : after)
    if (!earlier || earlier.state() == TaskState::Recorded || earlier.node()->engine() != this)
      throw InvalidArgument(
          fmt::format("task '{}': option `after` holds a handle that is empty, or of a task of a "
                      "graph or another runtime",
                      task.display_name()));
}

void Engine::describe(engine::ThreadContext& here, TaskNode& task, const Submission& submission) {
  const TaskOptions* const options = submission.options;
  task.set_place(options != nullptr && options->location.line != 0 ? options->location : submission.location);
  const bool anywhere = options == nullptr || options->on.empty();
  // A kernel that is used once can stay in the task's own storage where nobody asks for more than to run it.
  const std::optional<DeviceId> fast = lifecycle_.fast_device();
  const TaskType* type = nullptr;
  bool plain = false;
  if (submission.one_off != nullptr && lean_ && anywhere && fast) {
    type = submission.one_off;
    plain = true;
  } else {
    std::shared_ptr<const CodeletCore> made;
    if (submission.codelet == nullptr) made = submission.make_codelet(submission.recipe);
    const PreparedCodelet& prepared =
        codelets_->find(here, *contexts_, submission.codelet != nullptr ? *submission.codelet : made);
    type = &prepared;
    task.type = type;
    count_codelet_users(prepared, 1);
    plain = prepared.simple && anywhere;
    if (prepared.core->one_off) task.flags |= TaskNode::kHasCaptures;
  }
  task.type = type;
  if (options != nullptr) {
    if (!options->name.empty()) task.extra().name = options->name;
    if (options->priority != 0) task.extra().priority = options->priority;
  }
  const std::span<const PackedArgument> arguments = submission.arguments;
  if (arguments.size() != type->parameter_count)
    throw InvalidArgument(fmt::format("task '{}': {} arguments for the {} parameters of its codelet",
                                      task.display_name(), arguments.size(), type->parameter_count));
  if (plain) task.flags |= TaskNode::kPlain;
  void** const regions = plain ? task.make_regions(type->operand_count) : nullptr;
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = type->parameters[i];
    if (!parameter.is_data) continue;
    Region* const region = arguments[i].region;
    if (region == nullptr || &graph::BlockPool::of(&region->datum()) != pool_.get())
      check_region(task, arguments, i);
    if (next != 0) check_overlap(task, *type, arguments, i);
    if (plain)
      regions[next] = static_cast<HomeView*>(region);
    else
      task.operands().push_back({region, parameter.access, static_cast<std::uint8_t>(i), nullptr});
    ++next;
  }
  if (!plain) lifecycle_.find_eligible(task, machine_.matching(anywhere ? std::string() : options->on));
  // Nothing throws from here on but the captures' copy constructors.
  if (type->storage_bytes != 0) {
    auto* const storage =
        static_cast<std::byte*>(task.make_storage(type->storage_bytes, type->storage_alignment));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!type->parameters[i].is_data)
        std::memcpy(storage + type->scalar_offsets[i], arguments[i].scalar,
                    type->parameters[i].element.bytes);
    if (type->construct != nullptr) type->construct(storage, submission.recipe);
    if (type->destroy != nullptr) task.flags |= TaskNode::kHasCaptures;
  }
}

/// The type of a submission without options whose task is plain; null where it may be another.
inline const TaskType* Engine::plain_type(engine::ThreadContext& here, const Submission& submission) {
  if (submission.options != nullptr || keep_explanations_) return nullptr;
  if (submission.codelet != nullptr) {
    PreparedCodelet& prepared = codelets_->find(here, *contexts_, *submission.codelet);
    return prepared.simple && !prepared.core->one_off ? &prepared : nullptr;
  }
  return lean_ && lifecycle_.fast_device() ? submission.one_off : nullptr;
}

/// What `describe` does, for a plain task without options. Fills `accesses`, one for each operand.
inline void Engine::describe_plain(engine::ThreadContext& here, TaskNode& task, const TaskType& type,
                                   const Submission& submission, DataAccess* accesses) {
  task.type = &type;
  task.set_place(submission.location);
  task.flags = TaskNode::kPlain;
  if (!type.one_off)
    count_codelet_users(here.codelet_users.data(), static_cast<const PreparedCodelet&>(type), 1);
  const std::span<const PackedArgument> arguments = submission.arguments;
  if (arguments.size() != type.parameter_count) [[unlikely]]
    throw InvalidArgument(fmt::format("task '{}': {} arguments for the {} parameters of its codelet",
                                      task.display_name(), arguments.size(), type.parameter_count));
  void** const regions = task.make_regions(type.operand_count);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!type.parameters[i].is_data) continue;
    Region* const region = arguments[i].region;
    if (region == nullptr || &graph::BlockPool::of(&region->datum()) != pool_.get()) [[unlikely]]
      check_region(task, arguments, i);
    for (std::uint32_t j = 0; j < count; ++j)
      if (&accesses[j].region->datum() == &region->datum()) [[unlikely]]
        check_overlap(task, type, arguments, i);
    regions[count] = static_cast<HomeView*>(region);
    accesses[count++] = {region, type.parameters[i].access};
  }
  if (type.storage_bytes == 0) return;
  auto* const storage =
      static_cast<std::byte*>(task.make_storage(type.storage_bytes, type.storage_alignment));
  if (type.operand_count != type.parameter_count)
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (!type.parameters[i].is_data)
        std::memcpy(storage + type.scalar_offsets[i], arguments[i].scalar, type.parameters[i].element.bytes);
  if (type.construct != nullptr) type.construct(storage, submission.recipe);
  if (type.destroy != nullptr) task.flags |= TaskNode::kHasCaptures;
}

Task Engine::submit(const Submission& submission) {
  engine::ThreadContext& here = contexts_->here();
  if (--here.submissions_until_check <= 0) [[unlikely]]
    hold_back(here);
  TaskNode* const node = TaskNode::make(here.blocks);
  node->references.store(2, std::memory_order_relaxed);  // the engine's, from here on, and the handle's
  Task task(node, Task::Adopt{});
  try {
    constexpr std::uint32_t kFew = 8;
    const TaskType* const type = plain_type(here, submission);
    if (type != nullptr && type->operand_count <= kFew) {
      std::array<DataAccess, kFew> accesses;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
      describe_plain(here, *node, *type, submission, accesses.data());
      submit_node(here, *node, {accesses.data(), type->operand_count}, {}, true);
    } else {
      describe(here, *node, submission);
      const std::span<const Task> after = submission.options != nullptr
                                              ? std::span<const Task>(submission.options->after)
                                              : std::span<const Task>();
      if (!after.empty()) check_after(*node, after);
      if (keep_explanations_) node->extra().explanation = std::make_unique<Explanation>();
      submit_described(here, *node, after);
    }
  } catch (...) {
    if (node->has(TaskNode::kHasCaptures) && node->type->destroy != nullptr)
      node->type->destroy(node->storage());
    release_reference(node);
    throw;
  }
  return task;
}

void Engine::submit_described(engine::ThreadContext& here, TaskNode& task, std::span<const Task> after) {
  std::vector<DataAccess> accesses;
  if (task.has(TaskNode::kPlain)) {
    accesses.reserve(task.region_count);
    for (std::uint32_t i = 0; i < task.type->parameter_count; ++i)
      if (task.type->parameters[i].is_data)
        accesses.push_back(
            {&task.region(static_cast<std::uint32_t>(accesses.size())), task.type->parameters[i].access});
  } else {
    accesses.reserve(task.operands().size());
    for (const Operand& operand : task.operands()) accesses.push_back({operand.region, operand.access});
  }
  submit_node(here, task, accesses, after, true);
}

/// The node of the task that the calling thread runs. A task of a light run has none until somebody asks: it gets one to
/// stand for it.
TaskNode* Engine::make_stand_in(engine::ThreadContext& here) {
  const TaskNode& recorded = here.light_task.run->graph.task(here.light_task.task);
  TaskNode* const node = TaskNode::make(here.blocks);
  node->type = recorded.type;
  if (const PreparedCodelet* const codelet = node->prepared()) count_codelet_users(*codelet, 1);
  node->id = here.light_task.run->id;
  node->copy_place(recorded);
  node->extra().name = recorded.display_name();
  node->state.store(TaskState::Running, std::memory_order_relaxed);
  here.task = node;
  return node;
}

/// Before `infer` publishes the task: from then on others may walk its predecessors.
void Engine::adopt_by_current_task(engine::ThreadContext& here, TaskNode& task) {
  add_reference(here.task);
  task.set_parent(here.task);
}

void Engine::submit_node(engine::ThreadContext& here, TaskNode& task, std::span<const DataAccess> operands,
                         std::span<const Task> after, bool counts) {
  task.id = next_id(here);
  TaskNode* const parent = current_task(here);
  if (parent != nullptr) adopt_by_current_task(here, task);
  // Counted before the task can be over; taken back where `infer` throws, which then has had no effect.
  here.activated.add(1);
  if (counts) here.submitted.add(1);
  if (parent != nullptr) parent->pending.fetch_add(1, std::memory_order_relaxed);
  bool ready = true;
  if (!operands.empty() || !after.empty()) {
    try {
      const engine::AccessRights::Section section(access_rights_, here);
      std::optional<bool> quick;
      if (section.alone() && after.empty() && task.kind == TaskKind::Kernel) [[likely]]
        quick = graph::infer_wholes(here.inference, task, operands);
      ready = quick ? *quick : graph::infer(here.inference, task, task, operands, after, section.alone());
    } catch (...) {
      if (parent != nullptr) parent->pending.fetch_sub(1, std::memory_order_relaxed);
      if (counts) here.finished.add(1);
      here.deactivated.add(1);
      throw;
    }
    graph::release_dropped(here.inference);
  }
  if (ready) lifecycle_.ready(here, task);
  here.deactivated.add(1);
}

void Engine::reserve_ids(engine::ThreadContext& here) noexcept {
  constexpr std::uint64_t kBlock = 64;
  here.next_id = next_id_.fetch_add(kBlock, std::memory_order_relaxed);
  here.last_id = here.next_id + kBlock - 1;
}

/// Asked for from time to time by a thread that submits: where too many tasks are in flight, it runs some of them, or
/// waits for those who do.
void Engine::hold_back(engine::ThreadContext& here) {
  constexpr std::int32_t kSubmissionsBetween = 256;
  here.submissions_until_check = kSubmissionsBetween;
  // Who has been the only one to submit for as long may go without locks.
  const std::int64_t others = contexts_->sum(&engine::ThreadContext::submitted) - here.submitted.value();
  if (std::exchange(here.submitted_by_others, others) == others) access_rights_.claim(here);
  if (window_ == 0 || here.task != nullptr || here.light_task.run != nullptr || here.slot != nullptr) return;
  if (lifecycle_.outstanding() < window_) return;
  // The workers come first: what blocks the task at the head of the queue shall not block the submitting thread, which
  // may be the one to lift it.
  if (!cpu_workers_.judge_kernels(here)) cpu_workers_.let_others_begin();
  const auto enough = [this] { return lifecycle_.outstanding() <= window_ / 2; };
  constexpr Seconds kNoProgress{2e-3};
  Seconds last_progress = now();
  std::int64_t finished = contexts_->sum(&engine::ThreadContext::finished);
  while (!enough()) {
    cpu_workers_.take_part(nullptr, enough);
    if (enough()) return;
    std::this_thread::sleep_for(std::chrono::microseconds{50});
    const std::int64_t finished_now = contexts_->sum(&engine::ThreadContext::finished);
    const Seconds time = now();
    if (finished_now != finished) {
      last_progress = time;
      finished = finished_now;
    } else if (time - last_progress > kNoProgress) {
      return;  // what they wait for may only come after this submission
    }
  }
}

}  // namespace hocket::detail
