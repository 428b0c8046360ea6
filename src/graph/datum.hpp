// SPDX-License-Identifier: Apache-2.0
/// A datum: one logical array with the regions of it that have been named, the last accesses to each part (for
/// dependencies), and, attached by the memory manager, its replicas.
#pragma once

#include <atomic>
#include <cstdint>
#include <hocket/data.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/box_map.hpp"
#include "graph/task_node.hpp"

namespace hocket::memory {
class DatumReplicas;
}

namespace hocket::detail {

class Datum;

/// A box of a datum that a handle names. Lives as long as its datum.
class Region {
 public:
  Region(Datum& datum, const Box& box, std::uint32_t slot) : datum_(datum), box_(box), slot_(slot) {}

  Datum& datum() const noexcept { return datum_; }
  const Box& box() const noexcept { return box_; }
  /// Its number within the datum; the whole is 0.
  std::uint32_t slot() const noexcept { return slot_; }
  std::string name() const;

 private:
  Datum& datum_;
  Box box_;
  std::uint32_t slot_;
};

/// The last accesses to one part of a datum.
struct AccessState {
  TaskRef writer;
  std::vector<TaskRef> readers;  ///< Since `writer`.
  bool written = false;  ///< Whether anything, or the user before borrowing, has defined the contents.
};

struct DatumDescription {
  std::string name;
  ElementType element;
  Shape shape;
  Strides strides{};         ///< Of the home memory.
  void* borrowed = nullptr;  ///< The user's memory; null for runtime-owned data.
  bool read_only = false;
  bool permit_lossy = false;
};

class Datum {
 public:
  /// Starts with one reference.
  Datum(Engine& engine, std::uint64_t id, DatumDescription description);
  Datum(const Datum&) = delete;
  Datum& operator=(const Datum&) = delete;

  std::uint64_t id() const noexcept { return id_; }
  const std::string& name() const noexcept { return description_.name; }
  const DatumDescription& description() const noexcept { return description_; }
  std::byte* home() const noexcept { return home_; }
  const Strides& home_strides() const noexcept { return description_.strides; }
  Box whole() const noexcept { return {{0, 0, 0, 0}, description_.shape}; }

  /// The region of a box, made at first use. Thread-safe.
  Region& region(const Box& box);

  /// The engine while it lives, else null (the data outlived its runtime).
  std::atomic<Engine*> engine;

  /// Whether no replica but the one in the host's home memory has ever existed: then that one is valid, and tasks
  /// on CPU workers need not ask the memory manager. Falls once, under the memory manager's lock; a task
  /// that is ready may read it without one, since nothing else may write the parts that it uses.
  std::atomic<bool> host_only{true};

  std::mutex access_mutex;  ///< Guards `accesses`. Several are locked in order of `id()`.
  graph::BoxMap<AccessState> accesses;

  /// Guarded by the memory manager's lock.
  std::unique_ptr<memory::DatumReplicas, void (*)(memory::DatumReplicas*)> replicas{nullptr, nullptr};

  /// Whether the last handle's destruction has begun to bring borrowed contents back.
  std::atomic<bool> giving_back{false};
  /// Handles of the user.
  std::atomic<std::uint32_t> handles{0};
  /// Everything that keeps it alive: the handles together count as one, each operand of a task as one.
  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  /// A reference where the caller has none: false where the last one is gone and destruction has begun.
  bool try_add_reference() noexcept {
    std::uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0)
      if (references_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) return true;
    return false;
  }

 private:
  ~Datum();

  std::uint64_t id_;
  DatumDescription description_;
  std::byte* home_ = nullptr;
  std::atomic<std::uint32_t> references_{1};
  std::mutex region_mutex_;  ///< Guards `regions_`.
  std::vector<std::unique_ptr<Region>> regions_;
  std::unordered_multimap<std::size_t, Region*> by_hash_;
};

}  // namespace hocket::detail
