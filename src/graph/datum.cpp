// SPDX-License-Identifier: Apache-2.0
#include "graph/datum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>

namespace hocket::detail {
namespace {

std::size_t hash_of(const Box& box) noexcept {
  std::size_t hash = 0x9e3779b97f4a7c15u;
  for (std::size_t d = 0; d < kMaxRank; ++d) {
    hash = (hash ^ box.offset[d]) * 0x100000001b3u;
    hash = (hash ^ box.shape.extent[d]) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

void SpinLock::wait() const noexcept {
  for (int turn = 0; held_.load(std::memory_order_relaxed); ++turn)
    if (turn > 64) std::this_thread::yield();
}

// ---- readers -----------------------------------------------------------------------------------------------------------

ReaderList::ReaderList(const ReaderList& other) {
  if (other.size_ > kInline) {
    many_ = new TaskNode*[other.capacity_];
    capacity_ = other.capacity_;
  }
  for (TaskNode* reader : other.all()) {
    add_reference(reader);
    data()[size_++] = reader;
  }
}

ReaderList::ReaderList(ReaderList&& other) noexcept : size_(other.size_), capacity_(other.capacity_) {
  if (capacity_ == kInline)
    std::copy_n(other.in_place_, kInline, in_place_);
  else
    many_ = other.many_;
  other.size_ = 0;
  other.capacity_ = kInline;
}

ReaderList& ReaderList::operator=(ReaderList other) noexcept {
  this->~ReaderList();
  ::new (this) ReaderList(std::move(other));
  return *this;
}

ReaderList::~ReaderList() {
  for (TaskNode* reader : all()) release_reference(reader);
  if (capacity_ != kInline) delete[] many_;
}

void ReaderList::make_room(std::vector<TaskNode*>& dropped) {
  // Readers that are over no longer matter. Failed ones stay: order edges carry no failure, and nothing is lost.
  TaskNode** const list = data();
  TaskNode** const kept = std::partition(list, list + size_, [](const TaskNode* task) {
    return task->state.load(std::memory_order_acquire) != TaskState::Done;
  });
  dropped.insert(dropped.end(), kept, list + size_);
  size_ = static_cast<std::uint32_t>(kept - list);
  if (size_ <= capacity_ / 2) return;  // so that the pass is paid for by as many additions
  auto* const more = new TaskNode*[std::size_t{2} * capacity_];
  std::copy_n(list, size_, more);
  if (capacity_ != kInline) delete[] many_;
  many_ = more;
  capacity_ *= 2;
}

void ReaderList::clear(std::vector<TaskNode*>& dropped) {
  dropped.insert(dropped.end(), data(), data() + size_);
  size_ = 0;
}

// ---- regions -----------------------------------------------------------------------------------------------------------

Region::Region(Datum& owner, const Box& box, std::uint32_t slot) : box_(box), slot_(slot) {
  const DatumDescription& whole = owner.description();
  HomeView::datum = &owner;
  std::size_t offset = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) offset += box.offset[d] * whole.strides[d];
  memory = owner.home() + offset * whole.element.bytes;
  shape = box.shape;
  strides = whole.strides;
}

std::string Region::name() const { return slot_ == 0 ? datum().name() : datum().name() + to_string(box_); }

Datum::Datum(Engine& owner, std::uint64_t id, DatumDescription description)
    : engine(&owner), id_(id), description_(std::move(description)) {
  access_.written = description_.borrowed != nullptr;
  if (description_.borrowed != nullptr) {
    home_ = static_cast<std::byte*>(description_.borrowed);
  } else {
    constexpr std::size_t kAlignment = 64;  // a cache line, and enough for any vector load
    const std::size_t bytes = description_.shape.elements() * description_.element.bytes;
    home_ = static_cast<std::byte*>(
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
    if (home_ == nullptr)
      throw OutOfMemory(fmt::format("the host has no {} bytes for data '{}' ({} of {}); make it smaller",
                                    bytes, name(), to_string(description_.shape),
                                    to_string(description_.element)));
  }
  region(whole());
}

Datum::~Datum() {
  if (description_.borrowed == nullptr) std::free(home_);
}

Region& Datum::region(const Box& box) {
  const std::lock_guard lock(region_mutex_);
  const std::size_t hash = hash_of(box);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->box() == box) return *it->second;
  const auto slot = static_cast<std::uint32_t>(regions_.size());
  regions_.push_back(std::make_unique<Region>(*this, box, slot));
  by_hash_.emplace(hash, regions_.back().get());
  return *regions_.back();
}

std::string Datum::name() const {
  return description_.name.empty() ? fmt::format("data {}", id_) : description_.name;
}

bool Datum::unused() noexcept {
  bool unused = true;
  with_accesses(*this, [this, &unused] {
    for_each_access([&](const Box&, const AccessState& state) {
      const auto over = [](const TaskNode* task) { return task->closed(); };
      const auto readers = state.readers.all();
      unused = unused && (!state.writer || over(state.writer.get())) &&
               std::all_of(readers.begin(), readers.end(), over);
    });
  });
  return unused;
}

void Datum::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (unused())
    destroy();
  else
    retire(*this);
}

}  // namespace hocket::detail
