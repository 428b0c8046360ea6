// SPDX-License-Identifier: Apache-2.0
#include "pim/bank_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <hocket/error.hpp>
#include <vector>

namespace hocket::dpu {
namespace {

/// A strided copy with the dimensions that are contiguous on both sides fused into runs.
class StridedCopy {
 public:
  StridedCopy(const Shape& shape, const Strides& to, const Strides& from, std::size_t element_bytes) {
    run_bytes_ = element_bytes;
    for (std::size_t d = kMaxRank; d-- > 0;) {
      const std::size_t extent = shape.extent[d];
      if (extent == 1) continue;
      const std::size_t to_bytes = to[d] * element_bytes;
      const std::size_t from_bytes = from[d] * element_bytes;
      if (loops_ == 0 && to_bytes == run_bytes_ && from_bytes == run_bytes_) {
        run_bytes_ *= extent;
      } else {
        loop_[loops_++] = {extent, to_bytes, from_bytes};
      }
    }
  }

  std::size_t run_bytes() const noexcept { return run_bytes_; }

  void operator()(std::byte* to, const std::byte* from) const noexcept { copy(loops_, to, from); }

 private:
  struct Loop {
    std::size_t extent, to_bytes, from_bytes;
  };
  void copy(std::size_t depth, std::byte* to, const std::byte* from) const noexcept {
    if (depth == 0) {
      std::memcpy(to, from, run_bytes_);
      return;
    }
    const Loop& loop = loop_[depth - 1];
    for (std::size_t i = 0; i < loop.extent; ++i) {
      copy(depth - 1, to + i * loop.to_bytes, from + i * loop.from_bytes);
    }
  }

  std::array<Loop, kMaxRank> loop_{};  // innermost first
  std::size_t loops_ = 0;
  std::size_t run_bytes_ = 0;
};

/// The part of a box that lies in one bank.
struct BankBox {
  Shape shape;                  // no elements where the bank holds none of the box
  std::size_t bank_offset = 0;  // bytes from the array's address to the first element
  std::size_t host_offset = 0;  // bytes from the box's first host element
};

BankBox bank_box(const BankedArray& array, const Box& box, const Strides& host_strides, unsigned dpu,
                 unsigned dpus) {
  const RowRange rows = rows_of_bank(array.format.layout, array.shape.extent[0], dpu, dpus);
  const std::size_t begin = std::max(box.offset[0], rows.first);
  const std::size_t end = std::min(box.end(0), rows.first + rows.count);
  BankBox part;
  part.shape = box.shape;
  if (begin >= end) {
    part.shape.extent[0] = 0;
    return part;
  }
  part.shape.extent[0] = end - begin;
  const Strides strides = dense_strides(array.shape);
  std::size_t position = (begin - rows.first) * strides[0];
  for (std::size_t d = 1; d < kMaxRank; ++d) position += box.offset[d] * strides[d];
  const std::size_t element_bytes = array.format.element.bytes;
  part.bank_offset = position * element_bytes;
  part.host_offset = (begin - box.offset[0]) * host_strides[0] * element_bytes;
  return part;
}

/// Bytes that the host interface moves for a part: each contiguous run is widened to whole granules.
std::size_t moved_bytes(const BankBox& part, std::size_t run_bytes, std::size_t element_bytes) {
  const std::size_t bytes = part.shape.elements() * element_bytes;
  return bytes / run_bytes * round_up_to_granule(run_bytes);
}

void check(const BankedArray& array, const Box& box) {
  if (!is_bank_format(array.format)) {
    throw InvalidArgument("pim: banks cannot hold data in the format " + to_string(array.format) +
                          "; use a bank layout");
  }
  if (!Box{{}, array.shape}.contains(box)) {
    throw InvalidArgument("pim: a copy of box " + to_string(box) + " of an array of " +
                          to_string(array.shape) + " elements; the box must lie within the array");
  }
}

/// Calls `visit(part, run_bytes)` for each bank that holds some of the box; returns the largest size moved.
template <class Visit>
std::size_t for_each_bank(unsigned dpus, const BankedArray& array, const Box& box, const HostBox& host,
                          Visit&& visit) {
  const Strides bank_strides = dense_strides(array.shape);
  const std::size_t element_bytes = array.format.element.bytes;
  std::size_t largest = 0;
  for (unsigned dpu = 0; dpu < dpus; ++dpu) {
    const BankBox part = bank_box(array, box, host.strides, dpu, dpus);
    if (part.shape.elements() == 0) continue;
    // The run length in the bank decides what the interface moves, so the strides are the bank's on both
    // sides.
    const StridedCopy in_bank(part.shape, bank_strides, bank_strides, element_bytes);
    largest = std::max(largest, moved_bytes(part, in_bank.run_bytes(), element_bytes));
    visit(dpu, part);
  }
  return largest;
}

template <class T, class Sum>
void add_elements(Sum* sums, const std::byte* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    sums[i] = static_cast<Sum>(sums[i] + static_cast<Sum>(value));
  }
}

/// Adds up the partial results of a box: `fetch(dpu, values)` writes DPU dpu's elements densely; the sum is
/// left in `values`.
template <class T, class Sum, class Fetch>
void sum_partials(unsigned dpus, std::vector<std::byte>& values, Fetch&& fetch) {
  const std::size_t count = values.size() / sizeof(T);
  std::vector<Sum> sums(count, Sum{});
  for (unsigned dpu = 0; dpu < dpus; ++dpu) {
    fetch(dpu, values.data());
    add_elements<T>(sums.data(), values.data(), count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const T value(sums[i]);
    std::memcpy(values.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class Fetch>
void sum_partials(ElementType element, unsigned dpus, std::vector<std::byte>& values, Fetch&& fetch) {
  // Sums of signed integers are the same bits as of unsigned ones, without overflow being undefined.
  const bool is_float = element.kind == ElementKind::Float;
  if (element.kind == ElementKind::BrainFloat) return sum_partials<bf16, float>(dpus, values, fetch);
  if (is_float && element.bytes == 4) return sum_partials<float, float>(dpus, values, fetch);
  if (is_float) return sum_partials<double, double>(dpus, values, fetch);
  if (element.bytes == 1) return sum_partials<std::uint8_t, std::uint8_t>(dpus, values, fetch);
  if (element.bytes == 2) return sum_partials<std::uint16_t, std::uint16_t>(dpus, values, fetch);
  if (element.bytes == 4) return sum_partials<std::uint32_t, std::uint32_t>(dpus, values, fetch);
  return sum_partials<std::uint64_t, std::uint64_t>(dpus, values, fetch);
}

bool can_be_added(ElementType element) noexcept {
  switch (element.kind) {
    case ElementKind::Float:
      return element.bytes == 4 || element.bytes == 8;
    case ElementKind::BrainFloat:
      return true;
    case ElementKind::Signed:
    case ElementKind::Unsigned:
      return element.bytes <= 8;
    case ElementKind::Opaque:
      return false;
  }
  return false;
}

}  // namespace

bool is_bank_format(Format format) noexcept {
  switch (format.layout) {
    case Layout::BankInterleaved:
    case Layout::BankReplicated:
    case Layout::BankSingle:
      return true;
    case Layout::BankPartialSum:
      return can_be_added(format.element);
    case Layout::RowMajor:
      return false;
  }
  return false;
}

std::size_t bytes_per_bank(const Shape& shape, Format format, unsigned dpus) noexcept {
  Shape part = shape;
  if (format.layout == Layout::BankInterleaved) part.extent[0] = (shape.extent[0] + dpus - 1) / dpus;
  return round_up_to_granule(part.elements() * format.element.bytes);
}

Seconds copy_to_banks(DpuSet& set, const BankedArray& to, const Box& box, const HostBox& from) {
  check(to, box);
  if (to.format.layout == Layout::BankPartialSum) {
    throw InvalidArgument(
        "pim: partial sums cannot be copied to the device; they are only written by kernels");
  }
  const Strides bank_strides = dense_strides(to.shape);
  const std::size_t element_bytes = to.format.element.bytes;
  const std::size_t largest =
      for_each_bank(set.dpus(), to, box, from, [&](unsigned dpu, const BankBox& part) {
        const StridedCopy copy(part.shape, bank_strides, from.strides, element_bytes);
        copy(set.bank(dpu) + to.address + part.bank_offset, from.first + part.host_offset);
      });
  switch (to.format.layout) {
    case Layout::BankReplicated:
      return transfer_seconds(TransferKind::Broadcast, set.dpus(), largest);
    case Layout::BankSingle:
      return transfer_seconds(TransferKind::ToDpus, 1, largest);
    default:
      return transfer_seconds(TransferKind::ToDpus, set.dpus(), largest);
  }
}

Seconds copy_from_banks(const DpuSet& set, const BankedArray& from, const Box& box, const HostBox& to) {
  check(from, box);
  const Strides bank_strides = dense_strides(from.shape);
  const std::size_t element_bytes = from.format.element.bytes;
  if (from.format.layout == Layout::BankPartialSum) {
    const Strides dense = dense_strides(box.shape);
    const BankBox part = bank_box(from, box, dense, 0, set.dpus());
    const StridedCopy pack(box.shape, dense, bank_strides, element_bytes);
    std::vector<std::byte> values(box.shape.elements() * element_bytes);
    if (values.empty()) return Seconds{0.0};
    sum_partials(from.format.element, set.dpus(), values, [&](unsigned dpu, std::byte* into) {
      pack(into, set.bank(dpu) + from.address + part.bank_offset);
    });
    StridedCopy(box.shape, to.strides, dense, element_bytes)(to.first, values.data());
    const StridedCopy in_bank(box.shape, bank_strides, bank_strides, element_bytes);
    return transfer_seconds(TransferKind::FromDpus, set.dpus(),
                            moved_bytes(part, in_bank.run_bytes(), element_bytes));
  }
  // Any replica will do; the first one is taken, as from a single bank.
  const bool one_bank = from.format.layout != Layout::BankInterleaved;
  const unsigned dpus = set.dpus();
  const std::size_t largest = for_each_bank(dpus, from, box, to, [&](unsigned dpu, const BankBox& part) {
    if (one_bank && dpu != 0) return;
    const StridedCopy copy(part.shape, to.strides, bank_strides, element_bytes);
    copy(to.first + part.host_offset, set.bank(dpu) + from.address + part.bank_offset);
  });
  return transfer_seconds(TransferKind::FromDpus, one_bank ? 1 : dpus, largest);
}

Seconds zero_banks(DpuSet& set, const BankedArray& array) {
  const std::size_t bytes = bytes_per_bank(array.shape, array.format, set.dpus());
  for (unsigned dpu = 0; dpu < set.dpus(); ++dpu) std::memset(set.bank(dpu) + array.address, 0, bytes);
  std::uint64_t cycles = bytes / kDmaMaximumBytes * dma_write_cycles(kDmaMaximumBytes);
  if (bytes % kDmaMaximumBytes != 0) cycles += dma_write_cycles(bytes % kDmaMaximumBytes);
  return Seconds{static_cast<double>(cycles) / kClockHertz};
}

}  // namespace hocket::dpu
