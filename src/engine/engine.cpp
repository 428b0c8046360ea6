// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
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
  return settings;
}

Engine::Engine(const RuntimeOptions& options) : Engine(options, resolve(options)) {}

Engine::Engine(const RuntimeOptions& options, Settings&& settings)
    : keep_explanations_(settings.trace),
      machine_(settings.devices, settings.memory, options.backends),
      recorder_(settings.trace, node_names(machine_)),
      memory_(machine_, *this),
      lifecycle_(machine_, memory_, policy_for(options, settings.policy, machine_), recorder_, *this),
      cpu_workers_(machine_, lifecycle_, *this, settings.check) {
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
    sleep_until([this] { return lifecycle_.outstanding.load(std::memory_order_seq_cst) == 0; }, nullptr,
                std::nullopt);
    for (const TaskRef& failure : lifecycle_.take_failures())
      spdlog::error("hocket: nobody waited for a task that failed: {}", engine::message_of(failure->error));
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
}

// ---- submission ------------------------------------------------------------------------------------------------------

void Engine::describe(TaskNode& task, const std::shared_ptr<const CodeletCore>& codelet,
                      const TaskOptions& options, std::span<const PackedArgument> arguments) {
  task.engine = this;
  task.codelet = codelet;
  task.priority = options.priority;
  task.location = options.location;
  if (!options.name.empty()) task.extra().name = options.name;
  const std::vector<Parameter>& parameters = codelet->parameters;
  if (arguments.size() != parameters.size())
    throw InvalidArgument(fmt::format("task '{}': {} arguments for the {} parameters of its codelet",
                                      task.display_name(), arguments.size(), parameters.size()));
  std::uint32_t scalar_bytes = 0;
  task.scalar_offsets.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_data) continue;
    const std::uint32_t alignment = parameters[i].alignment;
    scalar_bytes = (scalar_bytes + alignment - 1) / alignment * alignment;
    task.scalar_offsets[i] = scalar_bytes;
    scalar_bytes += parameters[i].element.bytes;
  }
  if (scalar_bytes != 0) task.scalars = std::shared_ptr<std::byte[]>(new std::byte[scalar_bytes]);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_data) {
      std::memcpy(task.scalars.get() + task.scalar_offsets[i], arguments[i].scalar,
                  parameters[i].element.bytes);
      continue;
    }
    Region* const region = arguments[i].region;
    if (region == nullptr)
      throw InvalidArgument(
          fmt::format("task '{}': argument {} is an empty Data handle; make the data with "
                      "Runtime::data first",
                      task.display_name(), i));
    Datum& datum = region->datum();
    if (datum.engine.load(std::memory_order_relaxed) != this)
      throw InvalidArgument(
          fmt::format("task '{}': data '{}' (argument {}) belongs to another runtime, or one that "
                      "has ended; make it with the runtime that uses it",
                      task.display_name(), region->name(), i));
    Operand operand;
    operand.region = region;
    operand.access = parameters[i].access;
    operand.parameter = static_cast<std::uint8_t>(i);
    for (const Operand& other : task.operands) {
      const bool overlap = &other.region->datum() == &datum && other.region->box().overlaps(region->box());
      if (!overlap || (!writes(operand.access) && !writes(other.access))) continue;
      const bool same = other.region == region && reads(operand.access) && reads(other.access);
      if (!same)
        throw InvalidArgument(
            fmt::format("task '{}': arguments {} ('{}') and {} ('{}') overlap, and the kernel writes one of "
                        "them without reading "
                        "it or as another part; pass separate data",
                        task.display_name(), other.parameter, other.region->name(), i, region->name()));
    }
    datum.add_reference();
    task.operands.push_back(operand);
  }
}

Task Engine::submit(const std::shared_ptr<const CodeletCore>& codelet, TaskOptions&& options,
                    std::span<const PackedArgument> arguments) {
  TaskNode* const node = new TaskNode;  // its one reference is the engine's, from here on
  Task task(node);
  try {
    describe(*node, codelet, options, arguments);
    if (keep_explanations_) node->extra().explanation = std::make_unique<Explanation>();
    submit_node(*node, machine_.matching(options.on), options.after);
  } catch (...) {
    release_reference(node);
    throw;
  }
  return task;
}

void Engine::submit_node(TaskNode& task, std::uint64_t admitted, std::span<const Task> after) {
  for (const Task& earlier : after) {
    if (!earlier || earlier.state() == TaskState::Recorded || earlier.node()->engine != this)
      throw InvalidArgument(
          fmt::format("task '{}': option `after` holds a handle that is empty, or of a task of a "
                      "graph or another runtime",
                      task.display_name()));
  }
  if (task.kind == TaskKind::Kernel) lifecycle_.find_eligible(task, admitted);
  task.id = next_id();
  if (TaskNode* const parent = CpuWorkers::current_task(); parent != nullptr && parent->engine == this) {
    add_reference(parent);
    task.parent = parent;
    // Before `infer` publishes the task: from then on others may walk its predecessors.
    for (const Task& earlier : after) {
      add_reference(earlier.node());
      task.extra().predecessors.push_back(earlier.node());
    }
  }
  // From here on nothing throws but `infer`, which then has had no effect.
  lifecycle_.active.fetch_add(1, std::memory_order_relaxed);  // the submission itself
  try {
    graph::infer(task, task, task.operands);
  } catch (...) {
    lifecycle_.active.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  if (task.parent != nullptr) task.parent->live_children.fetch_add(1, std::memory_order_relaxed);
  if (task.kind == TaskKind::Kernel) lifecycle_.outstanding.fetch_add(1, std::memory_order_relaxed);
  for (const Task& earlier : after) add_dependency(*earlier.node(), task, true);
  lifecycle_.submitted(task);
  lifecycle_.active.fetch_sub(1, std::memory_order_relaxed);
}

// ---- what the rules ask of their driver --------------------------------------------------------------------------------

Seconds Engine::now() const {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

void Engine::queue_fast(TaskNode& task) { cpu_workers_.queue(task); }

void Engine::queue_present(TaskNode& task) {
  if (task.kind == TaskKind::HostAccess) {
    lifecycle_.grant(task);
  } else if (DeviceDriver* driver = drivers_[index(task.device)].get()) {
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
