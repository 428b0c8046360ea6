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
  // Readers that are over no longer matter: order edges carry no failure.
  TaskNode** const list = data();
  TaskNode** const kept =
      std::partition(list, list + size_, [](const TaskNode* task) { return !task->over(); });
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

Region::Region(Datum& owner, const HomeView& whole, const Box& box, std::uint32_t slot)
    : offset_(box.offset), slot_(slot) {
  HomeView::datum = &owner;
  std::size_t offset = 0;
  for (std::size_t d = 0; d < kMaxRank; ++d) offset += box.offset[d] * whole.strides[d];
  memory = static_cast<std::byte*>(whole.memory) + offset * owner.element().bytes;
  shape = box.shape;
  strides = whole.strides;
}

std::string Region::name() const { return is_whole() ? datum().name() : datum().name() + to_string(box()); }

// ---- data --------------------------------------------------------------------------------------------------------------

Datum::Datum(std::uint64_t id, const DatumDescription& description) noexcept
    : id_(id), element_(description.element) {
  access_.written = description.borrowed != nullptr;
  if (description.borrowed != nullptr) flags_ |= kBorrowed;
  if (description.read_only) flags_ |= kReadOnly;
  if (description.permit_lossy) flags_ |= kPermitLossy;
}

Datum* Datum::make(graph::BlockCache& blocks, std::uint64_t id, DatumDescription&& description) {
  HomeView home;
  home.memory = description.borrowed;
  home.shape = description.shape;
  home.strides = description.strides;
  void* const region = blocks.allocate();
  try {
    auto* const datum = ::new (blocks.allocate()) Datum(id, description);
    try {
      if (!description.name.empty()) datum->rare().name = std::move(description.name);
      if (!datum->borrowed()) {
        constexpr std::size_t kAlignment = 64;  // a cache line, and enough for any vector load
        const std::size_t bytes = description.shape.elements() * description.element.bytes;
        home.memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
        if (home.memory == nullptr)
          throw OutOfMemory(fmt::format("the host has no {} bytes for data '{}' ({} of {}); make it smaller",
                                        bytes, datum->name(), to_string(description.shape),
                                        to_string(description.element)));
      }
    } catch (...) {
      datum->~Datum();
      graph::free_block(datum);
      throw;
    }
    datum->whole_ = ::new (region) Region(*datum, home, {{0, 0, 0, 0}, description.shape}, 0);
    return datum;
  } catch (...) {
    blocks.free(region);
    throw;
  }
}

Datum::~Datum() {
  if (replicas != nullptr) detach(*this);
  delete rare_.load(std::memory_order_acquire);
  if (whole_ == nullptr) return;
  if (!borrowed()) std::free(home());
  graph::free_block(whole_);
}

void Datum::destroy() noexcept {
  this->~Datum();
  graph::free_block(this);
}

Datum::Rare& Datum::rare() {
  Rare* rare = rare_.load(std::memory_order_acquire);
  if (rare != nullptr) return *rare;
  auto fresh = std::make_unique<Rare>();
  if (rare_.compare_exchange_strong(rare, fresh.get(), std::memory_order_acq_rel)) rare = fresh.release();
  return *rare;
}

Region& Datum::region(const Box& box) {
  if (whole().box() == box) return *whole_;
  Rare& known = rare();
  const std::lock_guard lock(known.mutex);
  const std::size_t hash = hash_of(box);
  const auto [first, last] = known.by_hash.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->box() == box) return *it->second;
  const auto slot = static_cast<std::uint32_t>(known.regions.size() + 1);
  known.regions.push_back(std::make_unique<Region>(*this, *whole_, box, slot));
  try {
    known.by_hash.emplace(hash, known.regions.back().get());
  } catch (...) {
    known.regions.pop_back();
    throw;
  }
  return *known.regions.back();
}

std::string Datum::name() const {
  const Rare* const rare = rare_.load(std::memory_order_acquire);
  return rare == nullptr || rare->name.empty() ? fmt::format("data {}", id_) : rare->name;
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
