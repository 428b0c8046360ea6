// SPDX-License-Identifier: Apache-2.0
/// What a program on a processing-in-memory device sees. The device is a set of DPUs, small processors that
/// each own one MRAM bank and one WRAM scratchpad. A program is any callable `void(dpu::Tasklet&, ...)`;
/// every tasklet of every DPU runs it (SPMD) and reaches only its own DPU's memories:
///  - MRAM (64 MiB) holds the data and is reached by DMA alone, in 8 to 2048 bytes, sizes and addresses
///    multiples of 8;
///  - WRAM (64 KiB) is ordinary memory, allocated by `wram`, `shared` and `buffer`, and forgotten when the
///    launch ends. Local variables of the program are not counted against it.
/// Nothing leads from one DPU to another: results are combined by the host.
///
/// The device is emulated: programs compute real results, and their time is modelled from the instructions
/// that they charge (`Tasklet::charge`), from their DMA transfers and from their barriers.
///
/// The tasklets of a DPU run one at a time, each until it ends or blocks, in an order that is the same in
/// every run. Objects of this header belong to the tasklet that they were given to and must not outlive the
/// launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/format.hpp>
#include <numeric>
#include <type_traits>

namespace hocket::dpu {

// Sizes of UPMEM's v1A DPU, from its SDK's documentation.
inline constexpr std::size_t kMramBytes = std::size_t{64} << 20;
inline constexpr std::size_t kWramBytes = std::size_t{64} << 10;
inline constexpr unsigned kMaximumTasklets = 24;
inline constexpr unsigned kDefaultTasklets = 16;
inline constexpr unsigned kMutexes = 56;
inline constexpr std::size_t kDmaGranuleBytes = 8;
inline constexpr std::size_t kDmaMaximumBytes = 2048;

/// Byte offset in the MRAM bank of a DPU.
using MramAddress = std::uint32_t;

constexpr std::size_t round_up_to_granule(std::size_t bytes) noexcept {
  return (bytes + kDmaGranuleBytes - 1) / kDmaGranuleBytes * kDmaGranuleBytes;
}

/// A program broke a rule of the device; the message names the DPU, the tasklet, the rule and the remedy.
class ProgramError : public Error {
 public:
  using Error::Error;
};
/// A transfer between MRAM and WRAM that the DMA engine cannot do (real hardware would corrupt data in
/// silence).
class DmaError : public ProgramError {
 public:
  using ProgramError::ProgramError;
};
/// WRAM ran out, or a shared block was asked for with two sizes.
class WramError : public ProgramError {
 public:
  using ProgramError::ProgramError;
};
/// Tasklets that can never go on: a barrier that some tasklet will not reach, a mutex that will not be
/// released.
class SynchronisationError : public ProgramError {
 public:
  using ProgramError::ProgramError;
};
/// A program threw something of its own, which is nested; the message adds the DPU and the tasklet.
class LaunchError : public Error {
 public:
  using Error::Error;
};

enum class Operation : std::uint8_t { Add, Subtract, Multiply, Divide };

/// Instructions that a DPU spends on one streaming operation on `T`, operands and loop included: clock (350
/// MHz) over the throughput that the PrIM benchmarks measured. DPUs have no floating-point unit and multiply
/// by 8 bits. Types of 8 bytes cost as 64-bit ones, all others as 32-bit ones.
template <class T>
constexpr std::uint64_t instructions_per(Operation operation) noexcept {
  constexpr std::array<std::uint64_t, 4> kInt32{6, 6, 34, 31};
  constexpr std::array<std::uint64_t, 4> kInt64{7, 7, 137, 250};
  constexpr std::array<std::uint64_t, 4> kFloat32{71, 76, 183, 1029};
  constexpr std::array<std::uint64_t, 4> kFloat64{105, 113, 660, 2188};
  const auto at = static_cast<std::size_t>(operation);
  if constexpr (std::is_integral_v<T>) {
    return sizeof(T) == 8 ? kInt64[at] : kInt32[at];
  } else {
    return sizeof(T) == 8 ? kFloat64[at] : kFloat32[at];
  }
}

namespace detail {
class DpuExecution;
}

template <class T>
class WramBuffer;

/// Rows of a datum that one DPU holds: [first, first + count).
struct RowRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Which of `rows` rows DPU `dpu` of `dpus` holds in that layout. Interleaved data are dealt out in blocks of
/// ceil(rows / dpus) rows, so that the last DPUs may hold fewer or none.
constexpr RowRange rows_of_bank(Layout layout, std::size_t rows, unsigned dpu, unsigned dpus) noexcept {
  if (layout == Layout::BankSingle) return {0, dpu == 0 ? rows : 0};
  if (layout != Layout::BankInterleaved) return {0, rows};
  const std::size_t block = (rows + dpus - 1) / dpus;
  const std::size_t first = dpu * block < rows ? dpu * block : rows;
  return {first, rows - first < block ? rows - first : block};
}

/// One of the threads of a DPU. Passed to the program; every call acts for the tasklet that makes it.
class Tasklet {
 public:
  Tasklet(const Tasklet&) = delete;
  Tasklet& operator=(const Tasklet&) = delete;

  unsigned id() const noexcept { return id_; }
  unsigned tasklets() const noexcept { return tasklets_; }  ///< Tasklets of each DPU.
  unsigned dpu() const noexcept { return dpu_; }
  unsigned dpus() const noexcept { return dpus_; }

  /// Waits until every tasklet of this DPU has arrived. Throws SynchronisationError when one never will.
  void barrier();
  /// Waits for and takes one of the `kMutexes` mutexes of this DPU. Throws SynchronisationError on a
  /// deadlock.
  void lock(unsigned mutex);
  void unlock(unsigned mutex);

  /// Room for `count` elements in this DPU's WRAM, 8-byte aligned, contents unspecified, this tasklet's until
  /// the launch ends (there is no free). Throws WramError when WRAM is exhausted.
  template <class T>
  T* wram(std::size_t count) {
    check_element<T>();
    return static_cast<T*>(allocate(count, sizeof(T)));
  }
  /// The WRAM block `slot` that all tasklets of this DPU share, zeroed when the first of them asks for it.
  /// All must ask for the same number of bytes.
  template <class T>
  T* shared(unsigned slot, std::size_t count) {
    check_element<T>();
    return static_cast<T*>(shared_block(slot, count, sizeof(T)));
  }
  /// A WRAM buffer that loads and stores ranges of MRAM of any size and alignment.
  template <class T>
  WramBuffer<T> buffer(std::size_t capacity) {
    return WramBuffer<T>(*this, capacity);
  }

  /// One DMA transfer from MRAM to WRAM. Throws DmaError unless the size is 8 to 2048 bytes and a multiple of
  /// 8, the address and the pointer are multiples of 8, and both ranges lie inside this DPU's memories.
  template <class T>
  void read(MramAddress address, T* wram, std::size_t count) {
    check_element<T>();
    dma_read(address, wram, count * sizeof(T));
  }
  /// One DMA transfer from WRAM to MRAM, under the same rules.
  template <class T>
  void write(const T* wram, MramAddress address, std::size_t count) {
    check_element<T>();
    dma_write(wram, address, count * sizeof(T));
  }

  /// Reads `count` elements in as many transfers as it takes. `address` must be a multiple of 8; a ragged
  /// size is rounded up to 8 bytes, so that up to 7 bytes past the range are read too (`wram` leaves room for
  /// them).
  template <class T>
  void copy_in(MramAddress address, T* wram, std::size_t count) {
    check_element<T>();
    stream_in(address, wram, round_up_to_granule(count * sizeof(T)));
  }
  /// Writes likewise: up to 7 bytes past the range are overwritten. Meant for whole parts of data, whose
  /// padding belongs to nobody; use a `WramBuffer` to write a range that has neighbours.
  template <class T>
  void copy_out(const T* wram, MramAddress address, std::size_t count) {
    check_element<T>();
    stream_out(wram, address, round_up_to_granule(count * sizeof(T)));
  }

  /// Adds instructions to this tasklet's modelled time. DMA, barriers and mutexes charge themselves.
  void charge(std::uint64_t instructions) noexcept { instructions_ += instructions; }
  /// Adds `count` operations on elements of type `T`.
  template <class T>
  void charge(Operation operation, std::uint64_t count) noexcept {
    instructions_ += instructions_per<T>(operation) * count;
  }

 private:
  friend class detail::DpuExecution;
  template <class T>
  friend class WramBuffer;

  Tasklet(detail::DpuExecution& execution, unsigned id, unsigned tasklets, unsigned dpu,
          unsigned dpus) noexcept
      : execution_(execution), id_(id), tasklets_(tasklets), dpu_(dpu), dpus_(dpus) {}

  template <class T>
  static constexpr void check_element() noexcept {
    static_assert(std::is_trivially_copyable_v<T>,
                  "hocket: WRAM and MRAM hold trivially copyable types only");
    static_assert(alignof(T) <= kDmaGranuleBytes, "hocket: WRAM and MRAM align to 8 bytes at most");
  }
  /// Room for the elements, and for what a buffer (`more_bytes` other than 0) needs besides.
  void* allocate(std::size_t count, std::size_t element_bytes, std::size_t more_bytes = 0);
  void* shared_block(unsigned slot, std::size_t count, std::size_t element_bytes);
  void dma_read(MramAddress address, void* wram, std::size_t bytes);
  void dma_write(const void* wram, MramAddress address, std::size_t bytes);
  void stream_in(MramAddress address, void* wram, std::size_t bytes);
  void stream_out(const void* wram, MramAddress address, std::size_t bytes);
  /// Reads the granules that cover the range; `wram` receives the first granule.
  void load_covering(MramAddress address, std::byte* wram, std::size_t bytes, std::size_t capacity_bytes);
  /// Writes the range alone: a granule that it covers in part is read, merged and written through `granule`.
  void store_exactly(const std::byte* wram, MramAddress address, std::size_t bytes, std::byte* granule);
  void check_capacity(MramAddress address, std::size_t bytes, std::size_t capacity_bytes) const;
  void check_range(const char* access, std::size_t first, std::size_t count, std::size_t size) const {
    if (first > size || count > size - first) throw_beyond(access, first, count, size);
  }
  [[noreturn]] void throw_beyond(const char* access, std::size_t first, std::size_t count,
                                 std::size_t size) const;

  detail::DpuExecution& execution_;
  unsigned id_;
  unsigned tasklets_;
  unsigned dpu_;
  unsigned dpus_;
  std::uint64_t instructions_ = 0;
  std::uint64_t dma_cycles_ = 0;
};

/// What a program sees of a datum: this bank's part of it. Rows (indices of the first dimension) are dense
/// and row-major; only the part as a whole is padded to 8 bytes, so that a row whose size is not a multiple
/// of 8 may begin at any multiple of the element size: reach rows and ranges through a `WramBuffer`, which
/// copes.
///
/// With layout BankInterleaved a bank has `extent(0)` rows from global row `first()` on; the last banks may
/// have fewer or none. With BankReplicated and BankPartialSum every bank has all rows; with BankSingle DPU 0
/// has all and the others none.
template <class T, std::size_t Rank = 1>
class Mram {
  static_assert(Rank >= 1 && Rank <= kMaxRank, "hocket: data has 1 to 4 dimensions");

 public:
  using element_type = T;
  static constexpr std::size_t rank = Rank;

  Mram(MramAddress address, const std::array<std::size_t, Rank>& extents, std::size_t first,
       std::size_t total_rows) noexcept
      : address_(address), extents_(extents), first_(first), total_rows_(total_rows) {}

  MramAddress address() const noexcept { return address_; }  ///< Of the part's first element; 8-aligned.
  std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
  const std::array<std::size_t, Rank>& extents() const noexcept { return extents_; }
  std::size_t rows() const noexcept { return extents_[0]; }        ///< Rows in this bank.
  std::size_t first() const noexcept { return first_; }            ///< Global index of the first of them.
  std::size_t total_rows() const noexcept { return total_rows_; }  ///< Rows of the whole datum.
  std::size_t size() const noexcept { return rows() * row_elements(); }  ///< Elements in this bank.
  std::size_t row_elements() const noexcept {
    std::size_t product = 1;
    for (std::size_t d = 1; d < Rank; ++d) product *= extents_[d];
    return product;
  }
  /// Address of an element of this bank, by local row-major index; a multiple of `sizeof(T)`, not always
  /// of 8.
  MramAddress address_of(std::size_t index) const noexcept {
    return address_ + static_cast<MramAddress>(index * sizeof(T));
  }
  /// Address of a row of this bank, by local index.
  MramAddress row_address(std::size_t row) const noexcept { return address_of(row * row_elements()); }

 private:
  MramAddress address_;
  std::array<std::size_t, Rank> extents_;
  std::size_t first_;
  std::size_t total_rows_;
};

/// A WRAM buffer for ranges of at most `capacity()` elements that may begin and end anywhere in MRAM. It
/// moves the 8-byte granules that cover the range, in legal transfers; elements lie in WRAM with the same
/// alignment as in MRAM, so use the pointer that `load` or `place` returned, which is good until the next
/// one. It never changes bytes outside the stored range: granules that the range covers only in part are read
/// and merged, which tasklets of one DPU may do side by side.
///
/// Throws `WramError` for a range beyond its capacity, and `ProgramError` for one beyond the `Mram` that it is given
/// with.
template <class T>
class WramBuffer {
  static_assert(!std::is_const_v<T>,
                "hocket: a buffer is written by its loads; use WramBuffer<T>, not WramBuffer<const T>");

 public:
  WramBuffer(Tasklet& tasklet, std::size_t capacity)
      : tasklet_(&tasklet),
        capacity_(capacity),
        bytes_(
            static_cast<std::byte*>(tasklet.allocate(capacity, sizeof(T), kLatestStart + kDmaGranuleBytes))) {
  }

  std::size_t capacity() const noexcept { return capacity_; }

  /// Fetches `count` elements from `address` on.
  T* load(MramAddress address, std::size_t count) {
    tasklet_->load_covering(address, bytes_, count * sizeof(T), capacity_ * sizeof(T));
    return elements(address);
  }
  /// Fetches elements [first, first + count) of this bank's part, by local row-major index.
  template <class U, std::size_t Rank>
  T* load(const Mram<U, Rank>& part, std::size_t first, std::size_t count) {
    static_assert(std::is_same_v<std::remove_const_t<U>, T>,
                  "hocket: the buffer's element type is not the data's");
    tasklet_->check_range("load", first, count, part.size());
    return load(part.address_of(first), count);
  }

  /// Where elements that are about to be stored at `address` belong; fetches nothing.
  T* place(MramAddress address, std::size_t count) {
    tasklet_->check_capacity(address, count * sizeof(T), capacity_ * sizeof(T));
    return elements(address);
  }
  template <class U, std::size_t Rank>
  T* place(const Mram<U, Rank>& part, std::size_t first, std::size_t count) {
    static_assert(std::is_same_v<U, T>,
                  "hocket: the buffer's element type is not the data's, or that is read-only");
    tasklet_->check_range("place", first, count, part.size());
    return place(part.address_of(first), count);
  }

  /// Writes `count` elements to `address` on, from where `load` or `place` of that address put them.
  void store(MramAddress address, std::size_t count) {
    tasklet_->check_capacity(address, count * sizeof(T), capacity_ * sizeof(T));
    tasklet_->store_exactly(bytes_, address, count * sizeof(T), bytes_ + room(capacity_));
  }
  template <class U, std::size_t Rank>
  void store(const Mram<U, Rank>& part, std::size_t first, std::size_t count) {
    static_assert(std::is_same_v<U, T>,
                  "hocket: the buffer's element type is not the data's, or that is read-only");
    tasklet_->check_range("store", first, count, part.size());
    store(part.address_of(first), count);
  }

 private:
  /// Where the first element begins in its granule at the latest.
  static constexpr std::size_t kLatestStart = kDmaGranuleBytes - std::gcd(sizeof(T), kDmaGranuleBytes);
  /// Bytes that hold `capacity` elements wherever the first of them begins in its granule. A granule more lies behind
  /// them, for merging.
  static constexpr std::size_t room(std::size_t capacity) noexcept {
    return round_up_to_granule(capacity * sizeof(T) + kLatestStart);
  }
  T* elements(MramAddress address) const noexcept {
    return reinterpret_cast<T*>(bytes_ + address % kDmaGranuleBytes);
  }

  Tasklet* tasklet_;
  std::size_t capacity_;
  std::byte* bytes_;
};

/// Deals the range [0, count) to the tasklets of a DPU in blocks of `block` elements (the last may be
/// shorter), in turn, and calls `visit(first, count)` for each block of this tasklet. A multiple of 8
/// elements keeps the blocks on granules; 512 to 2048 bytes spread a transfer's fixed cost.
template <class Visit>
void for_each_block(const Tasklet& tasklet, std::size_t count, std::size_t block, Visit&& visit) {
  for (std::size_t first = tasklet.id() * block; first < count; first += tasklet.tasklets() * block) {
    visit(first, count - first < block ? count - first : block);
  }
}

/// Calls `visit(row)` for the rows of this tasklet: every `tasklets()`-th of [0, rows).
template <class Visit>
void for_each_row(const Tasklet& tasklet, std::size_t rows, Visit&& visit) {
  for (std::size_t row = tasklet.id(); row < rows; row += tasklet.tasklets()) visit(row);
}

}  // namespace hocket::dpu
