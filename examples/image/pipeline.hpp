// SPDX-License-Identifier: Apache-2.0
/// Blurs, sharpens and counts the values of a picture, tile by tile, on a runtime's devices.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <hocket/runtime.hpp>
#include <vector>

#include "image/picture.hpp"

namespace hocket::jobs::image {

inline constexpr std::size_t kBins = 256;
using Histogram = std::array<std::uint64_t, kBins>;

struct PipelineOptions {
  std::size_t tile = 128;  ///< Rows and columns of a tile.
  std::size_t radius = 3;  ///< Of the blur, in pixels; its stencil has 2 radius + 1 rows and columns.
  float amount = 1.0F;     ///< Of the sharpening: how much of what the blur took away is added.
};

struct PipelineResult {
  Picture blurred;
  Picture sharpened;
  std::vector<Histogram> before;  ///< Of each plane of the picture: values in equal bins from 0 to 1.
  std::vector<Histogram> after;   ///< Of the sharpened picture.
};

/// A Gaussian of deviation radius / 2, cut off at the radius, whose weights add up to 1; row-major.
std::vector<float> gaussian_stencil(std::size_t radius);

/// Runs the pipeline. For each tile of each plane: the part of the picture that the tile depends on (the tile
/// and a halo of `radius` pixels, so that parts of neighbours overlap) is blurred; the middle of that is the
/// blurred tile; with the tile itself it makes the sharpened one, picture + amount (picture - blurred), kept
/// within [0, 1]; both are counted. `progress` is told how many of how many tiles are done. Throws
/// `TaskError` and what `submit` throws.
PipelineResult run_pipeline(Runtime& runtime, const Picture& picture, const PipelineOptions& options,
                            const std::function<void(std::size_t done, std::size_t of)>& progress);

}  // namespace hocket::jobs::image
