// SPDX-License-Identifier: Apache-2.0
/// A datum: one logical array with the regions of it that have been named, the last accesses to each part (for
/// dependencies), and, attached by the memory manager, its replicas.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <hocket/data.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/block_pool.hpp"
#include "graph/box_map.hpp"
#include "graph/task_node.hpp"

namespace hocket::memory {
class DatumReplicas;
}

namespace hocket::detail {

class Datum;

/// A box of a datum that a handle names, and where it lies at home. Lives as long as its datum. A kernel finds what it
/// needs of an array of rank 1 in the first cache line.
class alignas(graph::kBlockBytes / 2) Region : public HomeView {
 public:
  /// `whole`: the datum's home memory, with the datum's strides.
  Region(Datum& datum, const HomeView& whole, const Box& box, std::uint32_t slot);

  Datum& datum() const noexcept { return *HomeView::datum; }
  Box box() const noexcept { return {offset_, shape}; }
  /// Its number within the datum; the whole is 0.
  std::uint32_t slot() const noexcept { return slot_; }
  bool is_whole() const noexcept;
  std::string name() const;

 private:
  std::array<std::size_t, kMaxRank> offset_;
  std::uint32_t slot_;
};
static_assert(sizeof(Region) == graph::kBlockBytes);

/// Held for a few dozen instructions at a time.
class SpinLock {
 public:
  void lock() noexcept {
    // Acquire pairs with the release in `unlock`: the holder before has left what it guards complete.
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void wait() const noexcept;
  std::atomic<bool> held_{false};
};

/// Counted references to the tasks that have read a part since it was written; room for two in place.
class ReaderList {
 public:
  ReaderList() noexcept = default;
  ReaderList(const ReaderList& other);
  ReaderList(ReaderList&& other) noexcept;
  ReaderList& operator=(ReaderList other) noexcept;
  ~ReaderList();

  std::span<TaskNode* const> all() const noexcept { return {data(), size_}; }
  bool empty() const noexcept { return size_ == 0; }
  std::uint32_t size() const noexcept { return size_; }
  TaskNode* last() const noexcept { return size_ != 0 ? data()[size_ - 1] : nullptr; }
  /// Takes over a reference. Readers that are over may be dropped; their references go to `dropped`.
  void add(TaskNode* reader, std::vector<TaskNode*>& dropped) {
    if (size_ == capacity_) make_room(dropped);
    data()[size_++] = reader;
  }
  /// Empties the list; the references go to `dropped`.
  void clear(std::vector<TaskNode*>& dropped);

 private:
  void make_room(std::vector<TaskNode*>& dropped);
  static constexpr std::uint32_t kInline = 2;
  TaskNode* const* data() const noexcept { return capacity_ == kInline ? in_place_ : many_; }
  TaskNode** data() noexcept { return capacity_ == kInline ? in_place_ : many_; }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  union {
    TaskNode* in_place_[kInline] = {nullptr, nullptr};
    TaskNode** many_;
  };
};

/// The last accesses to one part of a datum.
struct AccessState {
  TaskRef writer;
  ReaderList readers;    ///< Since `writer`.
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

/// Lets a datum end with the last task that uses it. Provided by the engine.
void retire(Datum& datum) noexcept;

/// Calls `use` while no other thread uses the records of that datum's accesses. Provided by the engine.
void with_accesses(Datum& datum, const std::function<void()>& use);

/// Two cache lines, of which the first is all that most submissions need.
class alignas(graph::kBlockBytes) Datum {
 public:
  /// Starts with one reference. Throws `OutOfMemory` where there is no room for what it owns.
  static Datum* make(graph::BlockCache& blocks, std::uint64_t id, DatumDescription&& description);
  Datum(const Datum&) = delete;
  Datum& operator=(const Datum&) = delete;

  // ---- accesses; guarded by `access_lock`, several locked in order of address, unless one thread alone uses any -------

  /// The state of the only part, while there is but one: until a region that is not the whole is accessed. Else null.
  AccessState* only_access() noexcept { return parted_ ? nullptr : &access_; }
  /// Calls `visit(box, state)` for each part of a region, split off as needed.
  template <class Function>
  void for_each_access(const Region& region, Function&& visit) {
    if (!parted_) {
      if (region.is_whole()) {
        visit(region.box(), access_);
        return;
      }
      parted_ = std::make_unique<graph::BoxMap<AccessState>>(whole().box(), std::move(access_));
    }
    for (const std::uint32_t i : parted_->cover(region.box(), region.slot()))
      visit(std::as_const((*parted_)[i].box), (*parted_)[i].state);
  }
  /// The same for all parts that there are.
  template <class Function>
  void for_each_access(Function&& visit) {
    if (!parted_) {
      visit(whole().box(), access_);
      return;
    }
    for (std::uint32_t i = 0; i < parted_->size(); ++i)
      visit(std::as_const((*parted_)[i].box), (*parted_)[i].state);
  }

 private:
  AccessState access_;
  std::unique_ptr<graph::BoxMap<AccessState>> parted_;
  Region* whole_ = nullptr;

 public:
  SpinLock access_lock;

  /// Whether no replica but the one in the host's home memory has ever existed: then that one is valid, and tasks
  /// on CPU workers need not ask the memory manager. Falls once, under the memory manager's lock; a task
  /// that is ready may read it without one, since nothing else may write the parts that it uses.
  std::atomic<bool> host_only{true};
  /// Whether the last handle's destruction has begun to bring borrowed contents back.
  std::atomic<bool> giving_back{false};

  // ---- what it is ------------------------------------------------------------------------------------------------

  std::uint64_t id() const noexcept { return id_; }
  std::string name() const;
  ElementType element() const noexcept { return element_; }
  /// Whether its home is the user's memory.
  bool borrowed() const noexcept { return (flags_ & kBorrowed) != 0; }
  bool read_only() const noexcept { return (flags_ & kReadOnly) != 0; }
  bool permit_lossy() const noexcept { return (flags_ & kPermitLossy) != 0; }
  std::byte* home() const noexcept { return static_cast<std::byte*>(whole().memory); }
  const Strides& home_strides() const noexcept { return whole().strides; }
  const Region& whole() const noexcept { return *whole_; }

  /// The region of a box, made at first use. Thread-safe.
  Region& region(const Box& box);
  Region& whole() noexcept { return *whole_; }

  /// The engine while it lives, else null (the data outlived its runtime).
  Engine* engine() const noexcept { return static_cast<Engine*>(graph::BlockPool::of(this).owner()); }

  /// Handles of the user.
  std::atomic<std::uint32_t> handles{0};
  /// Guarded by the memory manager's lock; made at the first use of a device's memory.
  memory::DatumReplicas* replicas = nullptr;

  /// Everything that keeps it alive but tasks: the handles together count as one, each recorded graph as one. When the
  /// last reference goes, the datum ends as soon as the tasks that use it are over.
  void add_reference() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;
  /// Whether every task that has used it is over.
  bool unused() noexcept;
  /// A reference where the caller has none: false where the last one is gone and destruction has begun.
  bool try_add_reference() noexcept {
    std::uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0)
      if (references_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) return true;
    return false;
  }
  /// Nobody uses it any more.
  void destroy() noexcept;

 private:
  enum Flag : std::uint8_t { kBorrowed = 1, kReadOnly = 2, kPermitLossy = 4 };
  /// What most data do without.
  struct Rare {
    std::string name;
    std::mutex mutex;                              ///< Guards the members below.
    std::vector<std::unique_ptr<Region>> regions;  ///< But the whole.
    std::unordered_multimap<std::size_t, Region*> by_hash;
  };

  Datum(std::uint64_t id, const DatumDescription& description) noexcept;
  ~Datum();
  Rare& rare();

  std::uint8_t flags_ = 0;
  std::atomic<std::uint32_t> references_{1};
  std::uint64_t id_;
  ElementType element_;
  std::atomic<Rare*> rare_{nullptr};
};
static_assert(sizeof(Datum) == graph::kBlockBytes);

inline bool Region::is_whole() const noexcept { return &datum().whole() == this; }

/// Ends what the memory manager keeps of a datum. Provided by it.
void detach(Datum& datum) noexcept;

inline Region& TaskNode::region(std::uint32_t i) const noexcept {
  return static_cast<Region&>(*static_cast<HomeView*>(regions()[i]));
}

}  // namespace hocket::detail
