// SPDX-License-Identifier: Apache-2.0
/// A partition of an index space into boxes, each with a state: the one mechanism behind dependencies and
/// replicas of overlapping regions. It starts as one box; asking for a region that cuts through boxes splits
/// them, and both parts keep the state. A region is then exactly a set of boxes, so that two regions share
/// state just where they overlap.
///
/// Not thread-safe. `cover` costs O(1) for a region seen since the last split, else O(boxes).
#pragma once

#include <cstdint>
#include <hocket/format.hpp>
#include <span>
#include <utility>
#include <vector>

namespace hocket::graph {

/// Cuts `outer` along the sides of `inner` where they overlap: calls `outside` for each part of `outer` that lies
/// outside `inner`, and returns the part within. Guillotine cuts, outermost dimension first, so that the tiles
/// of one grid never cut each other.
template <class Function>
Box cut(Box outer, const Box& inner, Function&& outside) {
  for (std::size_t d = 0; d < kMaxRank; ++d) {
    if (outer.offset[d] < inner.offset[d]) {
      Box before = outer;
      before.shape.extent[d] = inner.offset[d] - outer.offset[d];
      outside(before);
      outer.shape.extent[d] -= before.shape.extent[d];
      outer.offset[d] = inner.offset[d];
    }
    if (outer.end(d) > inner.end(d)) {
      Box after = outer;
      after.offset[d] = inner.end(d);
      after.shape.extent[d] = outer.end(d) - inner.end(d);
      outside(after);
      outer.shape.extent[d] -= after.shape.extent[d];
    }
  }
  return outer;
}

template <class State>
class BoxMap {
 public:
  struct Entry {
    Box box;
    State state;
  };

  BoxMap(const Box& whole, State initial) { entries_.push_back({whole, std::move(initial)}); }

  /// The indices of the entries that make up `box`, split as needed. `slot` is a small number that stands for this
  /// box in all calls (its region's number within the datum). Valid until the next call.
  std::span<const std::uint32_t> cover(const Box& box, std::uint32_t slot) {
    if (slot >= cache_.size()) cache_.resize(slot + 1);
    if (cache_[slot].version != version_) {
      std::vector<std::uint32_t> found = std::move(cache_[slot].entries);
      found.clear();
      const bool split = collect(box, found);
      if (split) ++version_;
      cache_[slot] = {version_, std::move(found)};
    }
    return cache_[slot].entries;
  }

  /// The same for a box that has no number.
  std::vector<std::uint32_t> cover(const Box& box) {
    std::vector<std::uint32_t> found;
    if (collect(box, found)) ++version_;
    return found;
  }

  Entry& operator[](std::uint32_t index) noexcept { return entries_[index]; }
  const Entry& operator[](std::uint32_t index) const noexcept { return entries_[index]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

 private:
  struct Cached {
    std::uint64_t version = 0;
    std::vector<std::uint32_t> entries;
  };

  bool collect(const Box& box, std::vector<std::uint32_t>& found) {
    const std::size_t before = entries_.size();
    for (std::uint32_t i = 0; i < before; ++i) {
      if (!entries_[i].box.overlaps(box)) continue;
      if (!box.contains(entries_[i].box)) {
        const Box inside = cut(entries_[i].box, box, [&](const Box& part) {
          State copy = entries_[i].state;
          entries_.push_back({part, std::move(copy)});
        });
        entries_[i].box = inside;
      }
      found.push_back(i);
    }
    return entries_.size() != before;
  }

  std::vector<Entry> entries_;
  std::vector<Cached> cache_;
  std::uint64_t version_ = 1;
};

}  // namespace hocket::graph
