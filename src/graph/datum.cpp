// SPDX-License-Identifier: Apache-2.0
#include "graph/datum.hpp"

#include <fmt/format.h>

#include <cstdlib>

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

std::string Region::name() const {
  if (slot_ == 0) return datum_.name();
  return datum_.name() + to_string(box_);
}

Datum::Datum(Engine& owner, std::uint64_t id, DatumDescription description)
    : engine(&owner),
      accesses({{0, 0, 0, 0}, description.shape},
               AccessState{TaskRef(), {}, description.borrowed != nullptr}),
      id_(id),
      description_(std::move(description)) {
  if (description_.borrowed != nullptr) {
    home_ = static_cast<std::byte*>(description_.borrowed);
  } else {
    constexpr std::size_t kAlignment = 64;  // a cache line, and enough for any vector load
    const std::size_t bytes = description_.shape.elements() * description_.element.bytes;
    home_ = static_cast<std::byte*>(
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
    if (home_ == nullptr)
      throw OutOfMemory(fmt::format("the host has no {} bytes for data '{}' ({} of {}); make it smaller",
                                    bytes, description_.name, to_string(description_.shape),
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

void Datum::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace hocket::detail
