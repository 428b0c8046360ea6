// SPDX-License-Identifier: Apache-2.0
#include "cholesky/cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cholesky/matrix.hpp"
#include "cli/program.hpp"

namespace hocket::jobs::cholesky {
namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<std::string> device_sets() {
  std::vector<std::string> sets = {"cpu:1", "cpu:4"};
  if (HOCKET_HAS_PIM != 0) sets.insert(sets.end(), {"pim:3", "cpu:2,pim:4"});
  if (HOCKET_HAS_OPENCL != 0) sets.insert(sets.end(), {"opencl", "cpu:2,opencl"});
  if (HOCKET_HAS_PIM != 0 && HOCKET_HAS_OPENCL != 0) sets.emplace_back("cpu:2,opencl,pim:4");
  return sets;
}

/// L by the textbook, in double.
std::vector<double> plain_factor(std::size_t n) {
  std::vector<double> l(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = spd_entry<double>(kSeed, n, i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  return l;
}

TEST(CholeskyMatrix, IsSymmetricWithADominantDiagonal) {
  constexpr std::size_t kOrder = 40;
  for (std::size_t i = 0; i < kOrder; ++i) {
    double others = 0.0;
    for (std::size_t j = 0; j < kOrder; ++j) {
      EXPECT_EQ(spd_entry<double>(kSeed, kOrder, i, j), spd_entry<double>(kSeed, kOrder, j, i));
      if (j != i) others += std::abs(spd_entry<double>(kSeed, kOrder, i, j));
    }
    EXPECT_GT(spd_entry<double>(kSeed, kOrder, i, i), others);
  }
}

TEST(CholeskyMatrix, DependsOnTheSeed) {
  EXPECT_NE(spd_entry<double>(1, 10, 3, 4), spd_entry<double>(2, 10, 3, 4));
}

template <class T>
void expect_same_tile_everywhere() {
  for (const std::string& devices : device_sets()) {
    Runtime runtime({.devices = devices});
    const auto tile = runtime.data<T>({13, 9});
    runtime.submit(spd_tile<T>(), kSeed, 50, 10, 12, tile);
    const auto view = runtime.read(tile);
    for (std::size_t i = 0; i < 13; ++i)
      for (std::size_t j = 0; j < 9; ++j)
        EXPECT_EQ(view(i, j), spd_entry<T>(kSeed, 50, 10 + i, 12 + j)) << devices;
  }
}

TEST(CholeskyMatrix, IsTheSameOnEveryDeviceToTheLastBit) {
  expect_same_tile_everywhere<double>();
  expect_same_tile_everywhere<float>();
}

TEST(CholeskyFactor, EqualsTheTextbooksOnEveryMixOfDevices) {
  constexpr std::size_t kOrder = 70;
  constexpr std::size_t kTile = 20;  // the last tiles are smaller
  const std::vector<double> expected = plain_factor(kOrder);
  for (const std::string& devices : device_sets()) {
    Runtime runtime({.devices = devices});
    const auto matrix = runtime.data<double>({kOrder, kOrder});
    const auto tiles = matrix.tiles(kTile, kTile);
    for (std::size_t i = 0; i < tiles.count(0); ++i)
      for (std::size_t j = 0; j <= i; ++j)
        runtime.submit(spd_tile<double>(), kSeed, kOrder, i * kTile, j * kTile, tiles(i, j));
    EXPECT_EQ(submit_cholesky<double>(runtime, tiles).size(), tiles.count(0));
    for (std::size_t i = 0; i < kOrder; ++i) {
      const auto row = runtime.read(tiles(i / kTile, 0));
      const auto diagonal = runtime.read(tiles(i / kTile, i / kTile));
      EXPECT_NEAR(row(i % kTile, 0), expected[i * kOrder], 1e-12) << devices;
      EXPECT_NEAR(diagonal(i % kTile, i % kTile), expected[i * kOrder + i], 1e-12) << devices;
    }
  }
}

TEST(CholeskyResidual, IsAtRoundingLevelForARightFactor) {
  EXPECT_LT(relative_residual<double>(plain_factor(200), 200, kSeed), 1e-14);
}

TEST(CholeskyResidual, SeesOneWrongEntryAnywhere) {
  constexpr std::size_t kOrder = 200;
  const std::vector<double> right = plain_factor(kOrder);
  for (const std::size_t at : {std::size_t{0}, 150 * kOrder + 3, 199 * kOrder + 198, 199 * kOrder + 199}) {
    std::vector<double> wrong = right;
    wrong[at] += 1e-3;
    EXPECT_GT(relative_residual<double>(wrong, kOrder, kSeed), 1e-9) << at;
  }
}

TEST(CholeskyResidual, IsRelativeToTheMatrix) {
  // With L = 0 the difference is the matrix itself.
  EXPECT_NEAR(relative_residual<double>(std::vector<double>(300 * 300, 0.0), 300, kSeed), 1.0, 1e-12);
}

#ifdef HOCKET_CHOLESKY
TEST(CholeskyProgram, ReportsAResidualAtRoundingLevelInBothPrecisions) {
  for (const auto& [precision, limit] : {std::pair{"double", 1e-13}, std::pair{"float", 1e-4}}) {
    const auto result = test::run_program(HOCKET_CHOLESKY, {"--size", "150", "--tile", "40", "--precision",
                                                            precision, "--devices", "cpu:2", "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto object = nlohmann::json::parse(result.out);
    EXPECT_EQ(object.at("example"), "cholesky");
    EXPECT_EQ(object.at("precision"), precision);
    EXPECT_GT(object.at("residual").get<double>(), 0);
    EXPECT_LT(object.at("residual").get<double>(), limit);
  }
}

TEST(CholeskyProgram, TakesSizesThatAreNoMultipleOfTheTileAndTilesThatAreLarger) {
  for (const char* size : {"1", "2", "39", "41"}) {
    const auto result =
        test::run_program(HOCKET_CHOLESKY, {"--size", size, "--tile", "40", "--devices", "cpu:2"});
    EXPECT_EQ(result.exit_code, 0) << size << ": " << result.err;
  }
}
#endif

}  // namespace
}  // namespace hocket::jobs::cholesky
