// SPDX-License-Identifier: Apache-2.0
/// The cores of this machine as one device that computes in the host's memory. The engine's own worker threads run
/// the kernels; this backend says how many there are and where to pin them.
#include <fmt/format.h>
#include <hwloc.h>

#include <charconv>
#include <hocket/backend.hpp>
#include <hocket/codelet.hpp>
#include <thread>

namespace hocket {
namespace {

/// Owner of a hwloc topology.
class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) {
      topology_ = nullptr;
    } else if (hwloc_topology_load(topology_) != 0) {
      hwloc_topology_destroy(topology_);
      topology_ = nullptr;
    }
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  ~Topology() {
    if (topology_ != nullptr) hwloc_topology_destroy(topology_);
  }

  /// The OS number of one processing unit of each core that this process may use, in hwloc's order, so that
  /// neighbours share caches. Empty where hwloc cannot tell.
  std::vector<std::uint32_t> cores() const {
    std::vector<std::uint32_t> found;
    if (topology_ == nullptr) return found;
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology_);
    // The allowed set knows cgroups; the process may be bound to less.
    hwloc_bitmap_s* const bound = hwloc_bitmap_dup(allowed);
    hwloc_bitmap_s* const process = hwloc_bitmap_alloc();
    if (hwloc_get_cpubind(topology_, process, HWLOC_CPUBIND_PROCESS) == 0 && !hwloc_bitmap_iszero(process))
      hwloc_bitmap_and(bound, allowed, process);
    const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE);
    hwloc_bitmap_s* const usable = hwloc_bitmap_alloc();
    for (int i = 0; i < count; ++i) {
      hwloc_obj* const core = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
      hwloc_bitmap_and(usable, core->cpuset, bound);
      const int first = hwloc_bitmap_first(usable);
      if (first >= 0) found.push_back(static_cast<std::uint32_t>(first));
    }
    hwloc_bitmap_free(usable);
    hwloc_bitmap_free(process);
    hwloc_bitmap_free(bound);
    return found;
  }

  std::string model() const {
    if (topology_ == nullptr) return "CPU";
    hwloc_obj* const package = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0);
    const char* name = package != nullptr ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    if (name == nullptr) name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology_), "CPUModel");
    std::string text = name != nullptr ? name : "CPU";
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  std::uint64_t memory_bytes() const {
    return topology_ != nullptr ? hwloc_get_root_obj(topology_)->total_memory : 0;
  }

 private:
  hwloc_topology_t topology_ = nullptr;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceProperties properties) : properties_(std::move(properties)) {}

  const DeviceProperties& properties() const override { return properties_; }

  void* allocate(const Shape&, Format) override {
    throw DeviceError("the CPU computes in the host's memory and has none of its own to allocate");
  }
  void release(void*) noexcept override {}
  EventHandle copy(LaneId, const CopyRequest&) override {
    throw DeviceError("the CPU computes in the host's memory: nothing is to be copied to it");
  }
  EventHandle launch(LaneId, const Variant& variant, std::span<const Argument> arguments) override {
    static_cast<const detail::CpuVariant&>(variant).run(arguments);
    return nullptr;  // Done when the call returns; what the kernel throws passes through.
  }
  EventHandle record(LaneId) override { return completed_event(); }
  void wait(LaneId, const EventHandle&) override {}
  void set_waker(std::function<void()>) override {}

 private:
  DeviceProperties properties_;
};

class CpuBackend final : public Backend {
 public:
  std::string_view kind() const override { return "cpu"; }

  std::vector<std::unique_ptr<Device>> open(std::string_view specification) override {
    const Topology topology;
    const std::vector<std::uint32_t> cores = topology.cores();
    std::uint32_t workers = cores.empty() ? std::max(1U, std::thread::hardware_concurrency())
                                          : static_cast<std::uint32_t>(cores.size());
    const auto available = workers;
    if (!specification.empty()) {
      const char* const end = specification.data() + specification.size();
      const auto [rest, error] = std::from_chars(specification.data(), end, workers);
      constexpr std::uint32_t kMost = 1024;
      if (error != std::errc() || rest != end || workers == 0 || workers > kMost)
        throw InvalidArgument(
            fmt::format("device specification 'cpu:{}': write the number of workers, 1 to {}, as in cpu:2",
                        specification, kMost));
    }
    DeviceProperties properties;
    properties.kind = "cpu";
    properties.name = topology.model();
    properties.execution = Execution::CallingThread;
    properties.units = available;
    properties.concurrency = workers;
    properties.in_flight = 1;
    properties.host_memory = true;
    properties.memory = Bytes{topology.memory_bytes()};
    // A core of the last decade with 256-bit vectors runs dense kernels near these rates; measurements replace
    // them as soon as there are any.
    properties.flops_per_second = 20e9;
    properties.bytes_per_second = 8e9;
    // More workers than cores: the system places them, since pinning two to one core while another idles is worse.
    if (workers <= cores.size()) properties.worker_cpus.assign(cores.begin(), cores.begin() + workers);
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(std::make_unique<CpuDevice>(std::move(properties)));
    return devices;
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace hocket
