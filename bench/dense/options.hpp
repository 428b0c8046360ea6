// SPDX-License-Identifier: Apache-2.0
/// What one measurement of a dense problem is asked for on the command line; the same for all runtimes.
#pragma once

#include <cstddef>
#include <string>

namespace hocket::bench::dense {

/// Where the tiles of a matrix lie: each tile dense by itself, or all in one dense row-major array.
enum class Storage { Tiles, Whole };

struct Options {
  std::string problem = "cholesky";  ///< gemm or cholesky.
  std::string type = "double";       ///< double or float.
  std::size_t n = 2048;              ///< Order of the matrices.
  std::size_t tile = 256;            ///< Order of their tiles; divides n.
  unsigned workers = 1;
  std::string mode;  ///< Of this program: a scheduler, or how tasks are given. Empty: its first.
  Storage storage = Storage::Tiles;
  int at_least = 1;          ///< Timed repetitions.
  double for_seconds = 0.5;  ///< Repeats further until so much time has been measured in all.
};

/// Reads "name=value" arguments; throws `std::invalid_argument` for a name or value that it does not know, or a
/// tile that does not divide n.
Options parse(int argc, char** argv);

}  // namespace hocket::bench::dense
