// SPDX-License-Identifier: Apache-2.0
#include "backends/device_kernels.hpp"

#include <hocket/opencl.hpp>
#include <hocket/pim.hpp>
#include <random>
#include <stdexcept>

#include "toy_backend/toy_backend.hpp"

namespace hocket::testing {
namespace {

// ---- CPU and toy devices
// -----------------------------------------------------------------------------------

void advance_view(Word step, View<const Word> x, View<Word> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 3 * y[i] + x[i] + step;
}
void accumulate_view(Word factor, View<const Word> x, View<Word> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}
void stir_view(Word factor, View<Word, 2> a) {
  for (std::size_t i = 0; i < a.extent(0); ++i)
    for (std::size_t j = 0; j < a.extent(1); ++j)
      a(i, j) = factor * a(i, j) + 31 * static_cast<Word>(i) + static_cast<Word>(j);
}
void scale_view(float factor, View<const float> x, Out<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = factor * x[i];
}
void twice_view(View<const bf16> x, Out<bf16> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = bf16(2.0f * static_cast<float>(x[i]));
}
void fail_view(View<Word>) { throw std::runtime_error("no such luck"); }

// ---- OpenCL
// --------------------------------------------------------------------------------------------------

constexpr const char* kSource = R"(
__kernel void advance(uint step, __global const uint* x, ulong m, __global uint* y, ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = 3 * y[i] + x[i] + step;
}
__kernel void accumulate(uint factor, __global const uint* x, ulong m, __global uint* y, ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] += factor * x[i];
}
__kernel void stir(uint factor, __global uint* a, ulong rows, ulong columns) {
  const size_t i = get_global_id(1);
  const size_t j = get_global_id(0);
  if (i < rows && j < columns) a[i * columns + j] = factor * a[i * columns + j] + 31 * (uint)i + (uint)j;
}
__kernel void scale(float factor, __global const float* x, ulong m, __global float* y, ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = factor * x[i];
}
__kernel void twice(__global const ushort* x, ulong m, __global ushort* y, ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) y[i] = (ushort)(as_uint(2.0f * as_float((uint)x[i] << 16)) >> 16);
}
)";
constexpr const char* kBrokenSource = "__kernel void fail(__global uint* x, ulong n) { x[0] = undeclared; }";

// ---- PIM
// -----------------------------------------------------------------------------------------------------

constexpr std::size_t kBlock = 64;

/// Streams x and y through WRAM and calls `visit(x[i], y[i])`.
template <class X, class Y, class Visit>
void for_each_pair(dpu::Tasklet& tasklet, const dpu::Mram<const X>& x, const dpu::Mram<Y>& y, Visit visit) {
  auto xs = tasklet.buffer<X>(kBlock);
  auto ys = tasklet.buffer<Y>(kBlock);
  dpu::for_each_block(tasklet, y.size(), kBlock, [&](std::size_t first, std::size_t count) {
    const X* const in = xs.load(x, first, count);
    Y* const out = ys.load(y, first, count);
    for (std::size_t i = 0; i < count; ++i) visit(in[i], out[i]);
    ys.store(y, first, count);
  });
}
void advance_dpu(dpu::Tasklet& tasklet, Word step, dpu::Mram<const Word> x, dpu::Mram<Word> y) {
  for_each_pair(tasklet, x, y, [step](Word in, Word& out) { out = 3 * out + in + step; });
}
void accumulate_dpu(dpu::Tasklet& tasklet, Word factor, dpu::Mram<const Word> x, dpu::Mram<Word> y) {
  for_each_pair(tasklet, x, y, [factor](Word in, Word& out) { out += factor * in; });
}
void stir_dpu(dpu::Tasklet& tasklet, Word factor, dpu::Mram<Word, 2> a) {
  const std::size_t columns = a.extent(1);
  auto buffer = tasklet.buffer<Word>(kBlock);
  dpu::for_each_row(tasklet, a.rows(), [&](std::size_t row) {
    Word* const elements = buffer.load(a, row * columns, columns);
    for (std::size_t j = 0; j < columns; ++j)
      elements[j] = factor * elements[j] + 31 * static_cast<Word>(a.first() + row) + static_cast<Word>(j);
    buffer.store(a, row * columns, columns);
  });
}
void scale_dpu(dpu::Tasklet& tasklet, float factor, dpu::Mram<const float> x, dpu::Mram<float> y) {
  for_each_pair(tasklet, x, y, [factor](float in, float& out) { out = factor * in; });
}
void twice_dpu(dpu::Tasklet& tasklet, dpu::Mram<const bf16> x, dpu::Mram<bf16> y) {
  for_each_pair(tasklet, x, y, [](bf16 in, bf16& out) { out = bf16(2.0f * static_cast<float>(in)); });
}
void fail_dpu(dpu::Tasklet&, dpu::Mram<Word>) { throw std::runtime_error("no such luck"); }

/// The variant takes its arguments 0 and 1 as bf16.
template <class Recipe>
Recipe in_bf16(Recipe recipe, Layout layout = Layout::RowMajor) {
  recipe.template wants<bf16>(0, layout);
  recipe.template wants<bf16>(1, layout);
  return recipe;
}

}  // namespace

const Codelet<void(Word, View<const Word>, View<Word>)>& advance() {
  static const Codelet<void(Word, View<const Word>, View<Word>)> codelet{
      "advance", cpu(advance_view), opencl(kSource, "advance"), pim(advance_dpu), toy::kernel(advance_view)};
  return codelet;
}

const Codelet<void(Word, View<const Word>, View<Word>)>& accumulate() {
  static const Codelet<void(Word, View<const Word>, View<Word>)> codelet{
      "accumulate", cpu(accumulate_view), opencl(kSource, "accumulate"), pim(accumulate_dpu),
      toy::kernel(accumulate_view)};
  return codelet;
}

const Codelet<void(Word, View<Word, 2>)>& stir() {
  static const Codelet<void(Word, View<Word, 2>)> codelet{"stir", cpu(stir_view), opencl(kSource, "stir"),
                                                          pim(stir_dpu), toy::kernel(stir_view)};
  return codelet;
}

const Codelet<void(float, View<const float>, Out<float>)>& scale() {
  static const Codelet<void(float, View<const float>, Out<float>)> codelet{
      "scale", cpu(scale_view), opencl(kSource, "scale"), pim(scale_dpu), toy::kernel(scale_view)};
  return codelet;
}

const Codelet<void(View<const float>, Out<float>)>& twice_in_bf16() {
  static const Codelet<void(View<const float>, Out<float>)> codelet{
      "twice_in_bf16", in_bf16(cpu(twice_view)), in_bf16(opencl(kSource, "twice")),
      in_bf16(pim(twice_dpu), Layout::BankInterleaved), in_bf16(toy::kernel(twice_view))};
  return codelet;
}

const Codelet<void(View<Word>)>& fail() {
  static const Codelet<void(View<Word>)> codelet{"fail", cpu(fail_view), opencl(kBrokenSource, "fail"),
                                                 pim(fail_dpu), toy::kernel(fail_view)};
  return codelet;
}

void advance_plainly(Word step, const Words& x, Words& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 3 * y[i] + x[i] + step;
}

void accumulate_plainly(Word factor, const Words& x, Words& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

void stir_plainly(Word factor, Words& matrix, std::size_t columns, const std::array<std::size_t, 2>& offset,
                  const std::array<std::size_t, 2>& extents) {
  for (std::size_t i = 0; i < extents[0]; ++i)
    for (std::size_t j = 0; j < extents[1]; ++j) {
      Word& element = matrix[(offset[0] + i) * columns + offset[1] + j];
      element = factor * element + 31 * static_cast<Word>(i) + static_cast<Word>(j);
    }
}

Words numbers(std::size_t count, Word seed) {
  std::mt19937 random(seed);
  Words words(count);
  for (Word& word : words) word = static_cast<Word>(random());
  return words;
}

RuntimeOptions options_for(const std::string& devices) {
  RuntimeOptions options;
  options.devices = devices;
  options.backends = {toy::make_backend()};
  return options;
}

bool has_device(const std::string& kind) {
  if (kind == "opencl") {
    const auto backend = make_opencl_backend();
    return backend != nullptr && !backend->open("").empty();
  }
  return kind != "pim" || HOCKET_HAS_PIM != 0;
}

}  // namespace hocket::testing
