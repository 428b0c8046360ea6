// SPDX-License-Identifier: Apache-2.0
/// The kernels of the random programs: arithmetic on unsigned integers, so that every device must give the same bits,
/// and so mixed up that a wrong order, a stale replica or a lost part shows.
#pragma once

#include <cstdint>
#include <hocket/hocket.hpp>
#include <hocket/pim.hpp>
#include <stdexcept>
#include <string>

namespace hocket::property {

using Word = std::uint32_t;

/// What a failing task throws.
struct Planned : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline Word made(Word seed, std::size_t i) { return seed * 2654435761U + static_cast<Word>(i) * 40503U; }
inline Word weighed(Word value, std::size_t i) { return value * (static_cast<Word>(i) * 2U + 1U); }
inline Word stirred(Word value, Word sum, std::size_t i) {
  return value * 1664525U + sum + static_cast<Word>(i) * 97U;
}

/// All elements of a view, in row-major order.
template <class V, class Function>
void each(const V& view, Function&& function) {
  std::size_t i = 0;
  if constexpr (V::rank == 1) {
    for (std::size_t r = 0; r < view.extent(0); ++r) function(view[r], i++);
  } else {
    for (std::size_t r = 0; r < view.extent(0); ++r)
      for (std::size_t c = 0; c < view.extent(1); ++c) function(view(r, c), i++);
  }
}

template <std::size_t Rank>
Word sum_of(const View<const Word, Rank>& a) {
  Word sum = 0;
  each(a, [&](Word value, std::size_t i) { sum += weighed(value, i); });
  return sum;
}

/// The same as OpenCL C, by one work item: what is tested is the order and the data, not the speed.
template <std::size_t Rank>
std::string opencl_code() {
  std::string shape_a = "const ulong a0";
  std::string shape_b = "const ulong b0";
  std::string size_a = "a0";
  std::string size_b = "b0";
  if (Rank == 2) {
    shape_a += ", const ulong a1";
    shape_b += ", const ulong b1";
    size_a += " * a1";
    size_b += " * b1";
  }
  return "__kernel void make(const uint seed, __global uint* b, " + shape_b +
         ") {\n"
         "  for (ulong i = 0; i < " +
         size_b +
         "; ++i) b[i] = seed * 2654435761u + (uint)i * 40503u;\n}\n"
         "__kernel void stir(const uint seed, __global const uint* a, " +
         shape_a + ", __global uint* b, " + shape_b +
         ") {\n"
         "  uint sum = seed;\n"
         "  for (ulong i = 0; i < " +
         size_a +
         "; ++i) sum += a[i] * ((uint)i * 2u + 1u);\n"
         "  for (ulong i = 0; i < " +
         size_b + "; ++i) b[i] = b[i] * 1664525u + sum + (uint)i * 97u;\n}\n";
}

inline NdRange one_item(std::span<const Argument>) { return {}; }

constexpr std::size_t kWramWords = 64;

template <std::size_t Rank>
void make_dpu(dpu::Tasklet& tasklet, Word seed, dpu::Mram<Word, Rank> b) {
  if (tasklet.id() != 0) return;
  auto buffer = tasklet.buffer<Word>(kWramWords);
  const std::size_t offset = b.first() * b.row_elements();
  for (std::size_t first = 0; first < b.size(); first += kWramWords) {
    const std::size_t count = std::min(kWramWords, b.size() - first);
    Word* out = buffer.place(b, first, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = made(seed, offset + first + i);
    tasklet.charge<Word>(dpu::Operation::Multiply, 2 * count);
    buffer.store(b, first, count);
  }
}

template <std::size_t Rank>
void stir_dpu(dpu::Tasklet& tasklet, Word seed, dpu::Mram<const Word, Rank> a, dpu::Mram<Word, Rank> b) {
  if (tasklet.id() != 0) return;
  auto buffer = tasklet.buffer<Word>(kWramWords);
  Word sum = seed;
  for (std::size_t first = 0; first < a.size(); first += kWramWords) {
    const std::size_t count = std::min(kWramWords, a.size() - first);
    const Word* in = buffer.load(a, first, count);
    for (std::size_t i = 0; i < count; ++i) sum += weighed(in[i], first + i);
    tasklet.charge<Word>(dpu::Operation::Multiply, count);
  }
  const std::size_t offset = b.first() * b.row_elements();
  for (std::size_t first = 0; first < b.size(); first += kWramWords) {
    const std::size_t count = std::min(kWramWords, b.size() - first);
    Word* out = buffer.load(b, first, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = stirred(out[i], sum, offset + first + i);
    tasklet.charge<Word>(dpu::Operation::Multiply, count);
    buffer.store(b, first, count);
  }
}

template <std::size_t Rank>
using Make = Codelet<void(Word, Out<Word, Rank>)>;
template <std::size_t Rank>
using Stir = Codelet<void(Word, View<const Word, Rank>, View<Word, Rank>)>;

/// b := f(seed).
template <std::size_t Rank>
const Make<Rank>& make_codelet() {
  static const Make<Rank> codelet{"make" + std::to_string(Rank), cpu([](Word seed, Out<Word, Rank> b) {
                                    each(b, [&](Word& value, std::size_t i) { value = made(seed, i); });
                                  }),
                                  opencl{opencl_code<Rank>(), "make", one_item}, pim(make_dpu<Rank>)};
  return codelet;
}

/// b := f(seed, a, b).
template <std::size_t Rank>
const Stir<Rank>& stir_codelet() {
  static const Stir<Rank> codelet{
      "stir" + std::to_string(Rank), cpu([](Word seed, View<const Word, Rank> a, View<Word, Rank> b) {
        const Word sum = seed + sum_of(a);
        each(b, [&](Word& value, std::size_t i) { value = stirred(value, sum, i); });
      }),
      opencl{opencl_code<Rank>(), "stir", one_item},
      pim(stir_dpu<Rank>).template wants<Word>(1, Layout::BankReplicated)};
  return codelet;
}

/// Throws before it has written anything. CPU only.
template <std::size_t Rank>
const Stir<Rank>& failing_codelet() {
  static const Stir<Rank> codelet{
      "fail" + std::to_string(Rank),
      cpu([](Word, View<const Word, Rank>, View<Word, Rank>) { throw Planned("planned failure"); })};
  return codelet;
}

}  // namespace hocket::property
