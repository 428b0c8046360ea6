// SPDX-License-Identifier: Apache-2.0
/// Data handles: arrays that the runtime keeps coherent over all memory nodes and formats.
///
/// A `Data<T, Rank>` names an array, or a box of one: what `tiles()` and `block()` return are handles of the
/// same type. A whole and its parts may be used side by side in any mix; the runtime orders the tasks that
/// overlap and moves just what is stale.
///
/// Ownership: `Runtime::data(span)` borrows the caller's memory, which must stay alive and untouched (but
/// through `read()` and `write()`) until the last handle is gone; that last handle's destruction waits for the
/// tasks that use the data and brings the final contents back. Runtime-owned data lives until the last
/// handle is gone and the last task that uses it is over.
///
/// Threads: handles may be used by several threads at once; one object, like any other, not while it is written.
#pragma once

#include <array>
#include <cstddef>
#include <hocket/error.hpp>
#include <hocket/format.hpp>
#include <hocket/view.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// What can be said of a datum when it is made. All of it is optional.
struct DataOptions {
  std::string name{};  ///< For messages and reports; "data 17" where empty.
  /// Permits conversions that lose precision (for example f32 to bf16) where a variant wants another format.
  /// Without it such a variant is not eligible for tasks on this datum.
  bool permit_lossy = false;
};

namespace detail {

class Region;

/// Counted reference of a user to a region (and its datum).
class DataHandle {
 public:
  DataHandle() noexcept = default;
  explicit DataHandle(Region* region) noexcept;
  DataHandle(const DataHandle& other) noexcept;
  DataHandle(DataHandle&& other) noexcept : region_(std::exchange(other.region_, nullptr)) {}
  DataHandle& operator=(DataHandle other) noexcept {
    std::swap(region_, other.region_);
    return *this;
  }
  ~DataHandle();

  Region* region() const noexcept { return region_; }

 private:
  Region* region_ = nullptr;
};

Shape shape_of(const DataHandle& handle);
std::string name_of(const DataHandle& handle);
/// The handle of a box of `parent`, given relative to it. Throws `InvalidArgument` where it does not lie within
/// or is empty.
DataHandle subregion(const DataHandle& parent, const Box& box);
/// Handles of all tiles of that size in row-major order of tiles; the last along a dimension may be smaller.
/// Throws `InvalidArgument` for a tile extent of 0.
std::vector<DataHandle> split(const DataHandle& parent, const std::array<std::size_t, kMaxRank>& tile);

[[noreturn]] inline void throw_no_such_tile(const DataHandle& whole, std::span<const std::size_t> at,
                                            std::span<const std::size_t> counts) {
  const auto joined = [](std::span<const std::size_t> numbers, const char* separator) {
    std::string text;
    for (const std::size_t number : numbers) {
      if (!text.empty()) text += separator;
      text += std::to_string(number);
    }
    return text;
  };
  std::string message = "tile (";
  message.append(joined(at, ",")).append(")");
  if (whole.region() != nullptr) message.append(" of data '").append(name_of(whole)).append("'");
  message.append(": there are ").append(joined(counts, " x ")).append(" tiles");
  throw InvalidArgument(message);
}

}  // namespace detail

template <class T, std::size_t Rank>
class Tiles;

/// A handle to an array, or a box of one, of elements `T`; `Data<const T>` borrows memory that is never written.
template <class T, std::size_t Rank = 1>
class Data {
 public:
  using element_type = T;
  static constexpr std::size_t rank = Rank;

  /// An empty handle, to be assigned to.
  Data() noexcept = default;
  explicit Data(detail::DataHandle handle) noexcept : handle_(std::move(handle)) {}

  explicit operator bool() const noexcept { return handle_.region() != nullptr; }

  std::size_t extent(std::size_t dimension) const { return detail::shape_of(handle_).extent[dimension]; }
  /// Number of elements.
  std::size_t size() const { return detail::shape_of(handle_).elements(); }
  /// The name given in `DataOptions`, with the box where this is a part: "A[0:256, 256:512]".
  std::string name() const { return detail::name_of(handle_); }

  /// Cuts the array into tiles of `tile...` elements along each dimension; the last ones may be smaller.
  /// Throws `InvalidArgument` for a tile extent of 0. Costs time in proportion to the number of tiles; cutting
  /// the same way again finds the same tiles.
  template <class... Extents>
  requires(sizeof...(Extents) == Rank) Tiles<T, Rank> tiles(Extents... tile)
  const;

  /// The box of `extents` elements that starts at `offset`. Throws `InvalidArgument` where it does not lie within
  /// this one or is empty.
  Data block(const std::array<std::size_t, Rank>& offset,
             const std::array<std::size_t, Rank>& extents) const {
    Box box;
    box.shape.rank = static_cast<std::uint8_t>(Rank);
    for (std::size_t d = 0; d < Rank; ++d) {
      box.offset[d] = offset[d];
      box.shape.extent[d] = extents[d];
    }
    return Data(detail::subregion(handle_, box));
  }

  const detail::DataHandle& handle() const noexcept { return handle_; }

 private:
  detail::DataHandle handle_;
};

/// The tiles of an array: a grid of handles. Cheap to copy a handle out of; safe to read by several threads.
template <class T, std::size_t Rank>
class Tiles {
 public:
  /// `whole` is what they are tiles of, for messages.
  Tiles(std::vector<detail::DataHandle> handles, const std::array<std::size_t, Rank>& counts,
        detail::DataHandle whole = {})
      : counts_(counts), whole_(std::move(whole)) {
    tiles_.reserve(handles.size());
    for (detail::DataHandle& handle : handles) tiles_.emplace_back(std::move(handle));
  }

  /// Number of tiles along a dimension.
  std::size_t count(std::size_t dimension) const noexcept { return counts_[dimension]; }
  /// Number of tiles.
  std::size_t size() const noexcept { return tiles_.size(); }

  /// The tile at these indices; throws `InvalidArgument` past the last one.
  template <class... Indices>
  requires(sizeof...(Indices) == Rank) const Data<T, Rank>& operator()(Indices... indices) const {
    const std::array<std::size_t, Rank> at{static_cast<std::size_t>(indices)...};
    std::size_t position = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (at[d] >= counts_[d]) detail::throw_no_such_tile(whole_, at, counts_);
      position = position * counts_[d] + at[d];
    }
    return tiles_[position];
  }

  auto begin() const noexcept { return tiles_.begin(); }
  auto end() const noexcept { return tiles_.end(); }

 private:
  std::vector<Data<T, Rank>> tiles_;
  std::array<std::size_t, Rank> counts_;
  detail::DataHandle whole_;
};

template <class T, std::size_t Rank>
template <class... Extents>
requires(sizeof...(Extents) == Rank) Tiles<T, Rank> Data<T, Rank>::tiles(Extents... tile)
const {
  const std::array<std::size_t, Rank> sizes{static_cast<std::size_t>(tile)...};
  std::array<std::size_t, kMaxRank> padded{1, 1, 1, 1};
  std::array<std::size_t, Rank> counts{};
  for (std::size_t d = 0; d < Rank; ++d) padded[d] = sizes[d];
  std::vector<detail::DataHandle> handles = detail::split(handle_, padded);
  for (std::size_t d = 0; d < Rank; ++d)
    counts[d] = extent(d) / sizes[d] + (extent(d) % sizes[d] != 0 ? 1 : 0);
  return Tiles<T, Rank>(std::move(handles), counts, handle_);
}

}  // namespace hocket
