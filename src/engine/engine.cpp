// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/failures.hpp"

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
  constexpr std::size_t kDefault = 16384;  // whose nodes fit into the second cache of most cores
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
      access_rights_(*contexts_),
      lifecycle_(machine_, memory_, policy_for(options, settings.policy, machine_), recorder_, *contexts_,
                 *this),
      cpu_workers_(machine_, lifecycle_, *this, *runs_, settings.check, lean_) {
  runs_->engine.store(this, std::memory_order_release);
  engine::prepare_asymmetric_fences();
  access_rights_.claim(contexts_->here());
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
    if (datum->borrowed() && !datum->giving_back.exchange(true)) give_back(*datum);
    datum->release();
  }
  cpu_workers_.stop();
  for (const auto& driver : drivers_)
    if (driver) driver->stop();
  if (host_copier_) host_copier_->stop();
  pool_->disown();                                          // from now on data has no engine,
  runs_->engine.store(nullptr, std::memory_order_release);  // nor have graphs
  memory_.detach_all();
  codelets_->release_all();
  contexts_->close();
}

// ---- the end of data ------------------------------------------------------------------------------------------------

void Engine::retire(Datum& datum) {
  engine::ThreadContext& here = contexts_->here();
  TaskNode* const node = TaskNode::make(here.blocks);
  node->kind = TaskKind::Retirement;
  node->extra().retired = &datum;
  TaskNode* const task = std::exchange(here.task, nullptr);  // it belongs to nobody
  const auto light_task = std::exchange(here.light_task, {});
  const DataAccess whole{&datum.whole(), Access::Write};
  submit_node(here, *node, {&whole, 1}, {}, true);
  here.light_task = light_task;
  here.task = task;
}

void retire(Datum& datum) noexcept {
  Engine* const engine = datum.engine();
  try {
    if (engine != nullptr)
      engine->retire(datum);
    else
      datum.destroy();
  } catch (const std::exception& exception) {
    spdlog::error("hocket: data '{}' is never freed: {}", datum.name(), exception.what());
  }
}

void with_accesses(Datum& datum, const std::function<void()>& use) {
  Engine* const engine = datum.engine();
  if (engine == nullptr) {
    const std::lock_guard lock(datum.access_lock);
    use();
    return;
  }
  const engine::AccessRights::Section section(engine->access_rights(), engine->contexts().here());
  const std::unique_lock<SpinLock> lock =
      section.alone() ? std::unique_lock<SpinLock>() : std::unique_lock(datum.access_lock);
  use();
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
  const Seconds time = now();
  const std::size_t contexts = contexts_->count();
  baselines_.resize(std::max(baselines_.size(), contexts));
  for (std::size_t i = 0; i < contexts; ++i) {
    const engine::ThreadContext& context = (*contexts_)[i];
    baselines_[i] = {context.executed.value(), context.totals.flops.load(std::memory_order_relaxed),
                     context.totals.busy_seconds.load(std::memory_order_relaxed)};
    // What it is about counts from now on.
    const double burst = context.totals.burst_begin_seconds.load(std::memory_order_relaxed);
    if (burst >= 0.0) baselines_[i].busy_seconds += time.count - burst;
  }
  recorder_.reset(time);
}

// ---- what the rules ask of their driver --------------------------------------------------------------------------------

Seconds Engine::now() const {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

void Engine::queue_fast(engine::ThreadContext& here, TaskNode& task) { cpu_workers_.queue(here, task); }

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
