// SPDX-License-Identifier: Apache-2.0
#include "image/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <hocket/kernels.hpp>
#include <hocket/opencl.hpp>
#include <hocket/pim.hpp>
#include <span>

namespace hocket::jobs::image {
namespace {

float sharpened(float amount, float value, float blurred) {
  return std::clamp(value + amount * (value - blurred), 0.0F, 1.0F);
}

void sharpen_cpu(float amount, View<const float, 2> image, View<const float, 2> blurred,
                 Out<float, 2> result) {
  for (std::size_t i = 0; i < result.extent(0); ++i)
    for (std::size_t j = 0; j < result.extent(1); ++j)
      result(i, j) = sharpened(amount, image(i, j), blurred(i, j));
}

constexpr const char* kSharpenSource = R"(
__kernel void sharpen(const float amount, __global const float* image, const ulong rows_i, const ulong columns_i,
                      __global const float* blurred, const ulong rows_b, const ulong columns_b,
                      __global float* result, const ulong rows, const ulong columns) {
  const ulong j = get_global_id(0);
  const ulong i = get_global_id(1);
  if (i >= rows || j >= columns) return;
  const float value = image[i * columns + j];
  result[i * columns + j] = clamp(value + amount * (value - blurred[i * columns + j]), 0.0f, 1.0f);
}
)";

void sharpen_dpu(dpu::Tasklet& tasklet, float amount, dpu::Mram<const float, 2> image,
                 dpu::Mram<const float, 2> blurred, dpu::Mram<float, 2> result) {
  constexpr std::size_t kBlock = 128;
  auto image_block = tasklet.buffer<float>(kBlock);
  auto blurred_block = tasklet.buffer<float>(kBlock);
  auto result_block = tasklet.buffer<float>(kBlock);
  dpu::for_each_block(tasklet, result.size(), kBlock, [&](std::size_t first, std::size_t count) {
    const float* values = image_block.load(image, first, count);
    const float* soft = blurred_block.load(blurred, first, count);
    float* to = result_block.place(result, first, count);
    for (std::size_t i = 0; i < count; ++i) to[i] = sharpened(amount, values[i], soft[i]);
    tasklet.charge<float>(dpu::Operation::Add, 4 * count);  // the two comparisons cost as much
    tasklet.charge<float>(dpu::Operation::Multiply, count);
    result_block.store(result, first, count);
  });
}

const Codelet<void(float, View<const float, 2>, View<const float, 2>, Out<float, 2>)>& sharpen() {
  static const auto codelet =
      Codelet{"sharpen", cpu(sharpen_cpu), opencl{kSharpenSource, "sharpen"}, pim(sharpen_dpu)}.with_work(
          [](std::span<const Shape> shapes) {
            const auto pixels = static_cast<double>(shapes[3].elements());
            return Work{3.0 * pixels, 3.0 * sizeof(float) * pixels};
          });
  return codelet;
}

/// A tile along one dimension with its halo, cut off where the picture ends.
struct Span {
  std::size_t first;       // of the tile, in the picture
  std::size_t count;       // of the tile
  std::size_t halo_first;  // of the tile with its halo, in the picture
  std::size_t halo_count;
  std::size_t inner() const { return first - halo_first; }  // of the tile, in the part with the halo
};

Span span_of(std::size_t index, std::size_t tile, std::size_t extent, std::size_t radius) {
  Span span{};
  span.first = index * tile;
  span.count = std::min(tile, extent - span.first);
  span.halo_first = span.first - std::min(span.first, radius);
  span.halo_count = std::min(extent, span.first + span.count + radius) - span.halo_first;
  return span;
}

/// What is in flight for one tile of one plane.
struct TileWork {
  std::size_t plane;
  Span rows;
  Span columns;
  Data<float, 2> blurred;
  Data<float, 2> sharpened;
  Data<std::uint32_t> before;
  Data<std::uint32_t> after;
};

TileWork submit_tile(Runtime& runtime, const Data<const float, 2>& plane, const Data<const float, 2>& stencil,
                     const PipelineOptions& options, TileWork work) {
  const std::array<std::size_t, 2> extents{work.rows.count, work.columns.count};
  const auto tile = plane.block({work.rows.first, work.columns.first}, extents);
  const auto surroundings = plane.block({work.rows.halo_first, work.columns.halo_first},
                                        {work.rows.halo_count, work.columns.halo_count});
  const auto blurred_surroundings = runtime.data<float>({work.rows.halo_count, work.columns.halo_count});
  runtime.submit({.name = "blur"}, kernels::convolve<float>(), stencil, surroundings, blurred_surroundings);
  work.blurred = blurred_surroundings.block({work.rows.inner(), work.columns.inner()}, extents);
  work.sharpened = runtime.data<float>({work.rows.count, work.columns.count});
  runtime.submit(sharpen(), options.amount, tile, work.blurred, work.sharpened);
  work.before = runtime.data<std::uint32_t>({kBins});
  work.after = runtime.data<std::uint32_t>({kBins});
  runtime.submit({.name = "count before"}, kernels::histogram_matrix<float>(), 0.0F, 1.0F, tile, work.before);
  runtime.submit({.name = "count after"}, kernels::histogram_matrix<float>(), 0.0F, 1.0F, work.sharpened,
                 work.after);
  return work;
}

void collect(Runtime& runtime, const TileWork& work, PipelineResult& result) {
  const auto copy = [&](const Data<float, 2>& from, Picture& to) {
    const auto view = runtime.read(from);
    for (std::size_t i = 0; i < work.rows.count; ++i)
      for (std::size_t j = 0; j < work.columns.count; ++j)
        to.planes[work.plane][(work.rows.first + i) * to.width + work.columns.first + j] = view(i, j);
  };
  const auto add = [&](const Data<std::uint32_t>& from, Histogram& to) {
    const auto view = runtime.read(from);
    for (std::size_t b = 0; b < kBins; ++b) to[b] += view[b];
  };
  copy(work.blurred, result.blurred);
  copy(work.sharpened, result.sharpened);
  add(work.before, result.before[work.plane]);
  add(work.after, result.after[work.plane]);
}

}  // namespace

std::vector<float> gaussian_stencil(std::size_t radius) {
  const std::size_t width = 2 * radius + 1;
  const double deviation = radius == 0 ? 1.0 : static_cast<double>(radius) / 2;
  std::vector<double> weights(width * width);
  double sum = 0.0;
  for (std::size_t u = 0; u < width; ++u)
    for (std::size_t v = 0; v < width; ++v) {
      const double du = static_cast<double>(u) - static_cast<double>(radius);
      const double dv = static_cast<double>(v) - static_cast<double>(radius);
      weights[u * width + v] = std::exp(-(du * du + dv * dv) / (2 * deviation * deviation));
      sum += weights[u * width + v];
    }
  std::vector<float> stencil;
  for (const double weight : weights) stencil.push_back(static_cast<float>(weight / sum));
  return stencil;
}

PipelineResult run_pipeline(Runtime& runtime, const Picture& picture, const PipelineOptions& options,
                            const std::function<void(std::size_t, std::size_t)>& progress) {
  const std::vector<float> weights = gaussian_stencil(options.radius);
  const std::size_t width = 2 * options.radius + 1;
  const auto stencil = runtime.data(weights.data(), {width, width}, {.name = "stencil"});

  PipelineResult result;
  result.blurred = result.sharpened = picture;
  result.before.resize(picture.planes.size());
  result.after.resize(picture.planes.size());
  // The last handle of borrowed data waits for the tasks that use it, so these stay until all is submitted.
  std::vector<Data<const float, 2>> planes;
  std::vector<TileWork> all;
  for (std::size_t p = 0; p < picture.planes.size(); ++p) {
    planes.push_back(runtime.data(picture.planes[p].data(), {picture.height, picture.width},
                                  {.name = "plane " + std::to_string(p)}));
    for (std::size_t i = 0; i * options.tile < picture.height; ++i)
      for (std::size_t j = 0; j * options.tile < picture.width; ++j) {
        TileWork work{p,
                      span_of(i, options.tile, picture.height, options.radius),
                      span_of(j, options.tile, picture.width, options.radius),
                      {},
                      {},
                      {},
                      {}};
        all.push_back(submit_tile(runtime, planes[p], stencil, options, std::move(work)));
      }
  }
  for (std::size_t done = 0; done < all.size(); ++done) {
    progress(done, all.size());
    collect(runtime, all[done], result);
    all[done] = {};  // its data are not needed any longer
  }
  runtime.wait();
  return result;
}

}  // namespace hocket::jobs::image
