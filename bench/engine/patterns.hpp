// SPDX-License-Identifier: Apache-2.0
/// The patterns by name, and their sizes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/workload.hpp"

namespace hocket::bench {

struct Sizes {
  std::size_t divisor = 1;       ///< Patterns have about so many times fewer tasks than usual.
  std::size_t multiplier = 1;    ///< Or more; wavefront and fibonacci stay as they are.
  std::size_t wavefront = 1000;  ///< Tasks along each side, before the divisor.
};

/// A pattern before it is made. The numbers are those of the usual sizes.
struct PatternInfo {
  std::string_view name;
  Kind kind;
  std::string_view what;
};
/// In the order of the tables.
const std::vector<PatternInfo>& pattern_infos();

/// The workload, edges included. Throws `std::invalid_argument` for an unknown name.
Workload make_pattern(std::string_view name, const Sizes& sizes);

/// The patterns whose smallest efficient task is measured: stencil, fft, tree, nearest, random. Their tasks lie in
/// `steps` rows of `width` points; each has a datum of its own and reads those of points of the row before.
const std::vector<std::string_view>& grain_patterns();
Workload make_grain_pattern(std::string_view name, std::size_t width, std::size_t steps);

}  // namespace hocket::bench
