// SPDX-License-Identifier: Apache-2.0
/// Data from the program's side: making it, reading and writing it, giving borrowed memory back.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "engine/failures.hpp"

namespace hocket::detail {

DataHandle Engine::make_data(DatumDescription description) {
  const std::uint64_t id = next_datum_.fetch_add(1, std::memory_order_relaxed);
  const auto name = [&] { return description.name.empty() ? fmt::format("data {}", id) : description.name; };
  const auto& extents = description.shape.extent;
  if (std::find(extents.begin(), extents.end(), std::size_t{0}) != extents.end())
    throw InvalidArgument(fmt::format("data '{}' has no elements (shape {}); every extent must be at least 1",
                                      name(), to_string(description.shape)));
  std::size_t bytes = description.element.bytes;
  for (const std::size_t extent : description.shape.extent)
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > PTRDIFF_MAX)
      throw InvalidArgument(fmt::format("data '{}' of shape {} is larger than the address space", name(),
                                        to_string(description.shape)));
  Datum* const datum = Datum::make(contexts_->here().blocks, id, std::move(description));
  DataHandle handle(&datum->whole());
  datum->release();  // the handle's is the one that stays
  return handle;
}

HostAccessGrant Engine::begin_host_access(const DataHandle& handle, Access access, bool report) {
  Region* const region = handle.region();
  if (region == nullptr) throw InvalidArgument("an empty Data handle cannot be read or written");
  Datum& datum = region->datum();
  if (datum.engine() != this)
    throw InvalidArgument(
        fmt::format("data '{}' belongs to another runtime, or one that has ended", region->name()));
  engine::ThreadContext& here = contexts_->here();
  TaskNode* const node = TaskNode::make(here.blocks);
  const TaskRef reference(node);
  node->kind = TaskKind::HostAccess;
  node->extra().operands.push_back({region, access, 0, nullptr});
  try {
    const DataAccess whole{region, access};
    submit_node(here, *node, {&whole, 1}, {}, false);
  } catch (...) {
    release_reference(node);
    throw;
  }
  try {
    sleep_until(
        [&] {
          return node->state.load(std::memory_order_seq_cst) == TaskState::Running ||
                 node->successors.load(std::memory_order_seq_cst) == kClosed;
        },
        node, std::nullopt);
  } catch (...) {
    abandon_host_access(*node);
    throw;
  }
  if (!node->over() && node->extra().transfer_failure) {
    const std::exception_ptr cause = std::exchange(node->extra().transfer_failure, nullptr);
    lifecycle_.end(*node, TaskState::Failed, engine::make_task_error(*node, TaskFailure::Failed, {}, cause));
  }
  if (node->over()) {
    if (report) throw_failure(*node);
    if (const std::exception_ptr error = engine::error_of(*node)) std::rethrow_exception(error);
  }

  HostAccessGrant grant;
  add_reference(node);  // the grant's
  grant.task = node;
  grant.shape = region->box().shape;
  grant.strides = datum.home_strides();
  std::size_t offset = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) offset += region->box().offset[d] * grant.strides[d];
  grant.memory = datum.home() + offset * datum.element().bytes;
  {
    const std::lock_guard lock(host_access_mutex_);
    ++host_accesses_[std::this_thread::get_id()];
    ++host_accesses_held_;
  }
  return grant;
}

/// The program does not wait for its access any longer: whenever its turn comes, it is over at once.
void Engine::abandon_host_access(TaskNode& task) noexcept {
  task.requests.fetch_or(TaskNode::kCancel, std::memory_order_seq_cst);  // seen when it becomes ready
  engine::heavy_fence();
  // Unless it just did: then its data is on its way, and it is granted soon.
  while (task.state.load(std::memory_order_seq_cst) == TaskState::Ready)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  if (task.state.load(std::memory_order_seq_cst) == TaskState::Running)
    lifecycle_.end(task, TaskState::Done, nullptr);
}

void Engine::end_host_access(TaskNode& task) noexcept {
  {
    // A view may be moved to another thread and end there; what counts is who could still let go of one.
    const std::lock_guard lock(host_access_mutex_);
    auto mine = host_accesses_.find(std::this_thread::get_id());
    if (mine == host_accesses_.end()) mine = host_accesses_.begin();
    if (mine != host_accesses_.end() && --mine->second == 0) host_accesses_.erase(mine);
    --host_accesses_held_;
  }
  lifecycle_.end(task, TaskState::Done, nullptr);
  release_reference(&task);
}

void Engine::give_back(Datum& datum) noexcept {
  try {
    const DataHandle handle(&datum.whole());
    // Who reads on needs the memory, too.
    std::vector<TaskRef> readers;
    with_accesses(datum, [&] {
      datum.for_each_access([&](const Box&, const AccessState& state) {
        for (TaskNode* const reader : state.readers.all())
          if (reader->kind != TaskKind::HostAccess) readers.emplace_back(reader);
      });
    });
    for (const TaskRef& reader : readers) wait_for(*reader, std::nullopt);
    if (!datum.read_only()) end_host_access(*begin_host_access(handle, Access::Read, false).task);
  } catch (const std::exception& exception) {
    spdlog::error("hocket: the contents of borrowed data '{}' could not be brought back: {}", datum.name(),
                  exception.what());
  }
}

// ---- handles --------------------------------------------------------------------------------------------------------

DataHandle::DataHandle(Region* region) noexcept : region_(region) {
  if (region_ == nullptr) return;
  Datum& datum = region_->datum();
  // All handles of a datum together hold one reference.
  if (datum.handles.fetch_add(1, std::memory_order_relaxed) == 0) datum.add_reference();
}

DataHandle::DataHandle(const DataHandle& other) noexcept : DataHandle(other.region_) {}

DataHandle::~DataHandle() {
  if (region_ == nullptr) return;
  Datum& datum = region_->datum();
  if (datum.handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (datum.borrowed()) {
    // The last handle of borrowed memory, which may be gone after this. What gives it back makes one more for a while.
    Engine* const engine = datum.engine();
    if (engine != nullptr && !datum.giving_back.exchange(true)) engine->give_back(datum);
  }
  datum.release();
}

Shape shape_of(const DataHandle& handle) {
  if (handle.region() == nullptr) throw InvalidArgument("an empty Data handle has no shape");
  return handle.region()->box().shape;
}

std::string name_of(const DataHandle& handle) {
  if (handle.region() == nullptr) return "(empty handle)";
  return handle.region()->name();
}

DataHandle subregion(const DataHandle& parent, const Box& box) {
  if (parent.region() == nullptr) throw InvalidArgument("an empty Data handle has no parts");
  const Box& outer = parent.region()->box();
  Box inner = box;
  for (std::size_t d = 0; d < kMaxRank; ++d) {
    if (box.shape.extent[d] == 0 || box.offset[d] > outer.shape.extent[d] ||
        box.shape.extent[d] > outer.shape.extent[d] - box.offset[d])
      throw InvalidArgument(fmt::format("part {} of data '{}' is empty or reaches beyond its shape {}",
                                        to_string(box), parent.region()->name(), to_string(outer.shape)));
    inner.offset[d] += outer.offset[d];
  }
  return DataHandle(&parent.region()->datum().region(inner));
}

std::vector<DataHandle> split(const DataHandle& parent, const std::array<std::size_t, kMaxRank>& tile) {
  const Shape shape = shape_of(parent);
  for (std::size_t d = 0; d < shape.rank; ++d)
    if (tile[d] == 0)
      throw InvalidArgument(fmt::format(
          "data '{}' cannot be cut into tiles with an extent of 0 (dimension {})", name_of(parent), d));
  std::vector<DataHandle> tiles;
  Box box;
  box.shape.rank = shape.rank;
  // An odometer over the tiles' first elements.
  while (true) {
    for (std::size_t d = 0; d < kMaxRank; ++d)
      box.shape.extent[d] = std::min(tile[d], shape.extent[d] - box.offset[d]);
    tiles.push_back(subregion(parent, box));
    std::size_t d = kMaxRank;
    while (d-- > 0) {
      box.offset[d] += tile[d];
      if (box.offset[d] < shape.extent[d]) break;
      box.offset[d] = 0;
      if (d == 0) return tiles;
    }
  }
}

HostAccessGrant begin_host_access(Engine& engine, const DataHandle& handle, Access access) {
  return engine.begin_host_access(handle, access);
}

void end_host_access(const HostAccessGrant& grant) noexcept {
  grant.task->engine()->end_host_access(*grant.task);
}

}  // namespace hocket::detail
