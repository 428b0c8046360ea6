// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "engine/failures.hpp"
#include "graph/inference.hpp"

namespace hocket::detail {

using engine::CpuWorkers;
using engine::DeviceDriver;

// ---- construction and end ------------------------------------------------------------------------------------------

/// The options with the environment filled in; what is given in the program wins.
struct Engine::Settings {
  std::string devices;
  std::string memory;
  std::string policy;
  bool trace = false;
  bool check = false;
  std::size_t window = 0;
};

namespace {

std::string from_environment(const char* name, const std::string& given) {
  if (!given.empty()) return given;
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody here changes the environment
  return value != nullptr ? value : "";
}

bool flag_from_environment(const char* name, const std::optional<bool>& given) {
  if (given) return *given;
  const std::string value = from_environment(name, {});
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw InvalidArgument(fmt::format("environment variable {}='{}': write 1 or 0", name, value));
}

std::size_t window_from(const std::optional<std::size_t>& given) {
  constexpr std::size_t kDefault = 65536;
  if (given) return *given;
  const std::string value = from_environment("HOCKET_WINDOW", {});
  if (value.empty()) return kDefault;
  std::size_t window = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), window);
  if (error != std::errc() || end != value.data() + value.size())
    throw InvalidArgument(fmt::format(
        "environment variable HOCKET_WINDOW='{}': write a number of tasks, or 0 for any number", value));
  return window;
}

std::unique_ptr<Policy> policy_for(const RuntimeOptions& options, std::string name,
                                   const platform::Machine& machine) {
  if (options.custom_policy) {
    std::unique_ptr<Policy> policy = options.custom_policy();
    if (!policy) throw InvalidArgument("RuntimeOptions::custom_policy returned no policy");
    return policy;
  }
  if (name.empty()) {
    const bool alike = std::all_of(machine.devices().begin(), machine.devices().end(),
                                   [](const DeviceInfo& device) { return device.properties.host_memory; });
    name = alike ? "ws" : "eft";
  }
  return make_policy(name);
}

std::vector<std::string> node_names(const platform::Machine& machine) {
  std::vector<std::string> names;
  for (const platform::MemoryNode& node : machine.nodes()) names.push_back(node.label);
  return names;
}

}  // namespace

Engine::Settings Engine::resolve(const RuntimeOptions& options) {
  Settings settings;
  settings.devices = from_environment("HOCKET_DEVICES", options.devices);
  settings.memory = from_environment("HOCKET_MEMORY", options.memory);
  settings.policy = from_environment("HOCKET_POLICY", options.policy);
  settings.trace = flag_from_environment("HOCKET_TRACE", options.trace);
  settings.check = flag_from_environment("HOCKET_CHECK", options.check);
  settings.window = window_from(options.window);
  return settings;
}

Engine::Engine(const RuntimeOptions& options) : Engine(options, resolve(options)) {}

Engine::Engine(const RuntimeOptions& options, Settings&& settings)
    : keep_explanations_(settings.trace),
      lean_(!settings.trace && !settings.check),
      window_(static_cast<std::int64_t>(std::min<std::size_t>(settings.window, PTRDIFF_MAX))),
      machine_(settings.devices, settings.memory, options.backends),
      recorder_(settings.trace, node_names(machine_)),
      memory_(machine_, *this),
      codelets_(std::make_shared<engine::Codelets>(machine_)),
      pool_(new graph::BlockPool(this, codelets_)),
      contexts_(std::make_shared<engine::ThreadContexts>(*pool_)),
      lifecycle_(machine_, memory_, policy_for(options, settings.policy, machine_), recorder_, *contexts_,
                 *this),
      cpu_workers_(machine_, lifecycle_, *this, *runs_, settings.check, lean_) {
  engine::prepare_asymmetric_fences();
  std::vector<DeviceReport> reports;
  for (const DeviceInfo& device : machine_.devices()) {
    DeviceReport report;
    report.id = device.id;
    report.kind = device.properties.kind;
    report.name = fmt::format("{} ({})", device.label, device.properties.name);
    report.workers =
        device.properties.execution == Execution::CallingThread ? device.properties.concurrency : 1;
    if (device.properties.emulated) report.modelled = Seconds{};
    reports.push_back(std::move(report));
  }
  recorder_.describe_devices(std::move(reports));
  for (const DeviceInfo& device : machine_.devices()) {
    drivers_.push_back(device.properties.execution == Execution::CallingThread
                           ? nullptr
                           : std::make_unique<DeviceDriver>(&device, &machine_.device(device.id), lifecycle_,
                                                            memory_, recorder_, *this));
  }
  cpu_workers_.start();
  for (const auto& driver : drivers_)
    if (driver) driver->start();
}

Engine::~Engine() {
  try {
    sleep_until([this] { return lifecycle_.outstanding() == 0; }, nullptr, std::nullopt);
    for (const TaskRef& failure : lifecycle_.take_failures())
      spdlog::error("hocket: nobody waited for a task that failed: {}",
                    engine::message_of(failure->extra().error));
  } catch (const std::exception& exception) {
    spdlog::error("hocket: the runtime ends with tasks that can no longer run: {}", exception.what());
  }
  // Borrowed data whose handles outlive the runtime.
  for (Datum* datum : memory_.attached()) {
    const DatumDescription& description = datum->description();
    if (description.borrowed != nullptr && !description.read_only && !datum->giving_back.exchange(true))
      give_back(*datum);
    datum->release();
  }
  cpu_workers_.stop();
  for (const auto& driver : drivers_)
    if (driver) driver->stop();
  if (host_copier_) host_copier_->stop();
  memory_.detach_all();
  codelets_->release_all();
  contexts_->close();
}

// ---- submission ------------------------------------------------------------------------------------------------------

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
    if (region == nullptr || region->datum().engine.load(std::memory_order_relaxed) != this)
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

const TaskType* Engine::plain_type(engine::ThreadContext& here, const Submission& submission) {
  if (submission.options != nullptr) return nullptr;
  if (submission.codelet != nullptr) {
    PreparedCodelet& prepared = codelets_->find(here, *contexts_, *submission.codelet);
    return prepared.simple && !prepared.core->one_off ? &prepared : nullptr;
  }
  return lean_ && lifecycle_.fast_device() ? submission.one_off : nullptr;
}

void Engine::describe_plain(TaskNode& task, const TaskType& type, const Submission& submission) {
  task.type = &type;
  task.set_place(submission.location);
  task.flags |= TaskNode::kPlain;
  if (!type.one_off) count_codelet_users(static_cast<const PreparedCodelet&>(type), 1);
  const std::span<const PackedArgument> arguments = submission.arguments;
  if (arguments.size() != type.parameter_count)
    throw InvalidArgument(fmt::format("task '{}': {} arguments for the {} parameters of its codelet",
                                      task.display_name(), arguments.size(), type.parameter_count));
  void** const regions = task.make_regions(type.operand_count);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!type.parameters[i].is_data) continue;
    Region* const region = arguments[i].region;
    if (region == nullptr || region->datum().engine.load(std::memory_order_relaxed) != this)
      check_region(task, arguments, i);
    for (std::uint32_t j = 0; j < next; ++j)
      if (static_cast<HomeView*>(regions[j])->datum == &region->datum())
        check_overlap(task, type, arguments, i);
    regions[next++] = static_cast<HomeView*>(region);
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
  if (--here.submissions_until_check <= 0) hold_back(here);
  TaskNode* const node = TaskNode::make(here.blocks);
  node->references.store(2, std::memory_order_relaxed);  // the engine's, from here on, and the handle's
  Task task(node, Task::Adopt{});
  const std::span<const Task> after = submission.options != nullptr
                                          ? std::span<const Task>(submission.options->after)
                                          : std::span<const Task>();
  try {
    if (const TaskType* const type = plain_type(here, submission)) {
      describe_plain(*node, *type, submission);
    } else {
      describe(here, *node, submission);
      if (!after.empty()) check_after(*node, after);
    }
    if (keep_explanations_) node->extra().explanation = std::make_unique<Explanation>();
    submit_described(here, *node, after);
  } catch (...) {
    if (node->has(TaskNode::kHasCaptures) && node->type->destroy != nullptr)
      node->type->destroy(node->storage());
    release_reference(node);
    throw;
  }
  return task;
}

void Engine::submit_described(engine::ThreadContext& here, TaskNode& task, std::span<const Task> after) {
  const bool plain = task.has(TaskNode::kPlain);
  const std::size_t count = plain ? task.region_count : task.operands().size();
  constexpr std::size_t kFew = 8;
  std::array<DataAccess, kFew> few;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  std::vector<DataAccess> many;
  DataAccess* accesses = few.data();
  if (count > kFew) {
    many.resize(count);
    accesses = many.data();
  }
  if (plain) {
    DataAccess* next = accesses;
    const Parameter* const parameters = task.type->parameters;
    for (std::uint32_t i = 0; i < task.type->parameter_count; ++i)
      if (parameters[i].is_data) {
        *next = {&task.region(static_cast<std::uint32_t>(next - accesses)), parameters[i].access};
        ++next;
      }
  } else {
    for (std::size_t i = 0; i < count; ++i)
      accesses[i] = {task.operands()[i].region, task.operands()[i].access};
  }
  submit_node(here, task, {accesses, count}, after, true);
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
void Engine::adopt_by_current_task(engine::ThreadContext& here, TaskNode& task, std::span<const Task> after) {
  add_reference(here.task);
  task.set_parent(here.task);
  for (const Task& earlier : after) {
    add_reference(earlier.node());
    task.extra().predecessors.push_back(earlier.node());
  }
}

void Engine::submit_node(engine::ThreadContext& here, TaskNode& task, std::span<const DataAccess> operands,
                         std::span<const Task> after, bool counts) {
  task.id = next_id(here);
  TaskNode* const parent = current_task(here);
  if (parent != nullptr) adopt_by_current_task(here, task, after);
  // Counted before the task can be over; taken back where `infer` throws, which then has had no effect.
  here.activated.add(1);
  if (counts) here.submitted.add(1);
  if (parent != nullptr) parent->pending.fetch_add(1, std::memory_order_relaxed);
  bool ready = false;
  try {
    ready = graph::infer(here.inference, task, task, operands, after);
  } catch (...) {
    if (parent != nullptr) parent->pending.fetch_sub(1, std::memory_order_relaxed);
    if (counts) here.finished.add(1);
    here.deactivated.add(1);
    throw;
  }
  if (ready) lifecycle_.ready(task);
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
  if (window_ == 0 || here.task != nullptr || here.light_task.run != nullptr || here.slot != nullptr) return;
  if (lifecycle_.outstanding() < window_) return;
  // The workers come first: what blocks the task at the head of the queue shall not block the submitting thread, which
  // may be the one to lift it.
  cpu_workers_.let_others_begin();
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

void Engine::retire(Datum& datum) {
  engine::ThreadContext& here = contexts_->here();
  TaskNode* const node = TaskNode::make(here.blocks);
  node->kind = TaskKind::Retirement;
  node->extra().retired = &datum;
  TaskNode* const task = std::exchange(here.task, nullptr);  // it belongs to nobody
  const auto light_task = std::exchange(here.light_task, {});
  const DataAccess whole{&datum.region(datum.whole()), Access::Write};
  submit_node(here, *node, {&whole, 1}, {}, true);
  here.light_task = light_task;
  here.task = task;
}

void retire(Datum& datum) noexcept {
  Engine* const engine = datum.engine.load(std::memory_order_acquire);
  try {
    if (engine != nullptr)
      engine->retire(datum);
    else
      datum.destroy();
  } catch (const std::exception& exception) {
    spdlog::error("hocket: data '{}' is never freed: {}", datum.name(), exception.what());
  }
}

// ---- report ------------------------------------------------------------------------------------------------------------

Report Engine::report() {
  const std::lock_guard lock(report_mutex_);
  const Seconds time = now();
  const std::uint64_t period = contexts_->period.load(std::memory_order_relaxed);
  trace::FastTotals fast;
  fast.device = lifecycle_.fast_device();
  const std::size_t contexts = contexts_->count();
  baselines_.resize(std::max(baselines_.size(), contexts));
  for (std::size_t i = 0; i < contexts; ++i) {
    const engine::ThreadContext& context = (*contexts_)[i];
    const std::int64_t executed = context.executed.value() - baselines_[i].executed;
    if (executed == 0) continue;
    fast.tasks += static_cast<std::uint64_t>(executed);
    fast.flops += context.totals.flops.load(std::memory_order_relaxed) - baselines_[i].flops;
    fast.busy +=
        Seconds{context.totals.busy_seconds.load(std::memory_order_relaxed) - baselines_[i].busy_seconds};
    const double burst = context.totals.burst_begin_seconds.load(std::memory_order_relaxed);
    if (burst >= 0.0) fast.busy += time - Seconds{burst};
    const bool current = context.totals.period.load(std::memory_order_acquire) == period;
    const double first = current ? context.totals.first_begin_seconds.load(std::memory_order_relaxed) : 0.0;
    const double last =
        burst >= 0.0 ? time.count : context.totals.last_end_seconds.load(std::memory_order_relaxed);
    fast.first_begin = std::min(fast.first_begin, Seconds{first});
    fast.last_end = std::max(fast.last_end, Seconds{last});
  }
  return recorder_.take(time, std::string(lifecycle_.policy_name()), fast);
}

void Engine::reset_report() {
  const std::lock_guard lock(report_mutex_);
  contexts_->period.fetch_add(1, std::memory_order_relaxed);
  const std::size_t contexts = contexts_->count();
  baselines_.resize(std::max(baselines_.size(), contexts));
  for (std::size_t i = 0; i < contexts; ++i) {
    const engine::ThreadContext& context = (*contexts_)[i];
    baselines_[i] = {context.executed.value(), context.totals.flops.load(std::memory_order_relaxed),
                     context.totals.busy_seconds.load(std::memory_order_relaxed)};
  }
  recorder_.reset(now());
}

// ---- what the rules ask of their driver --------------------------------------------------------------------------------

Seconds Engine::now() const {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

void Engine::queue_fast(TaskNode& task) { cpu_workers_.queue(task); }

void Engine::queue_present(TaskNode& task) {
  if (task.kind == TaskKind::HostAccess) {
    lifecycle_.grant(task);
  } else if (DeviceDriver* driver = drivers_[index(task.extra().device)].get()) {
    driver->queue_present(task);
  } else {
    cpu_workers_.queue_present(task);
  }
}

void Engine::wake(std::uint64_t devices) {
  bool cpu = false;
  for (std::size_t i = 0; i < drivers_.size(); ++i) {
    if ((devices >> i & 1) == 0) continue;
    if (drivers_[i])
      drivers_[i]->wake();
    else
      cpu = true;
  }
  if (cpu) cpu_workers_.wake();
}

std::optional<WorkerId> Engine::current_worker() const { return cpu_workers_.current_worker(); }

void Engine::start(memory::Transfer& transfer) {
  if (transfer.hop.device != nullptr) {
    const auto device =
        std::find_if(machine_.devices().begin(), machine_.devices().end(),
                     [&](const DeviceInfo& info) { return info.memory_node == transfer.hop.device_node; });
    drivers_[index(device->id)]->queue(transfer);
    return;
  }
  const std::lock_guard lock(host_copier_mutex_);
  if (!host_copier_) {
    host_copier_ = std::make_unique<DeviceDriver>(nullptr, nullptr, lifecycle_, memory_, recorder_, *this);
    host_copier_->start();
  }
  host_copier_->queue(transfer);
}

void Engine::room_made(MemoryNodeId node) {
  for (const DeviceInfo& device : machine_.devices())
    if (device.memory_node == node && drivers_[index(device.id)]) drivers_[index(device.id)]->room_made();
}

}  // namespace hocket::detail
