// SPDX-License-Identifier: Apache-2.0
/// Draws the histograms of a picture before and after as one SVG picture. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "image/pipeline.hpp"

namespace hocket::jobs::image {

/// Two panels, one below the other, with a curve for each plane: red, green and blue, or grey. Stands alone,
/// with its own background.
std::string histogram_svg(std::span<const Histogram> before, std::span<const Histogram> after);

}  // namespace hocket::jobs::image
