// SPDX-License-Identifier: Apache-2.0
#include "graph/box_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace hocket::graph {
namespace {

Box box_of(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns) {
  Box box;
  box.offset = {row, column, 0, 0};
  box.shape.rank = 2;
  box.shape.extent = {rows, columns, 1, 1};
  return box;
}

std::size_t elements(const BoxMap<int>& map, std::span<const std::uint32_t> cover) {
  std::size_t total = 0;
  for (const std::uint32_t i : cover) total += map[i].box.shape.elements();
  return total;
}

TEST(BoxMap, StartsAsOneBoxThatCoversTheWhole) {
  BoxMap<int> map(box_of(0, 0, 8, 8), 7);
  const auto cover = map.cover(box_of(0, 0, 8, 8), 0);
  ASSERT_EQ(cover.size(), 1U);
  EXPECT_EQ(map[cover[0]].state, 7);
}

TEST(BoxMap, KeepsTheStateOnBothSidesOfACut) {
  BoxMap<int> map(box_of(0, 0, 8, 8), 1);
  for (const std::uint32_t i : map.cover(box_of(2, 2, 3, 3), 1)) map[i].state = 2;
  int ones = 0;
  int twos = 0;
  for (const std::uint32_t i : map.cover(box_of(0, 0, 8, 8), 0))
    (map[i].state == 1 ? ones : twos) += static_cast<int>(map[i].box.shape.elements());
  EXPECT_EQ(ones, 64 - 9);
  EXPECT_EQ(twos, 9);
}

TEST(BoxMap, NeverCutsOneTileOfAGridByAnother) {
  BoxMap<int> map(box_of(0, 0, 12, 12), 0);
  std::uint32_t slot = 1;
  // In an order that is not the storage order.
  for (const std::size_t row : {8, 0, 4})
    for (const std::size_t column : {4, 8, 0}) map.cover(box_of(row, column, 4, 4), slot++);
  EXPECT_EQ(map.size(), 9U);
  slot = 1;
  for (const std::size_t row : {8, 0, 4})
    for (const std::size_t column : {4, 8, 0})
      EXPECT_EQ(map.cover(box_of(row, column, 4, 4), slot++).size(), 1U);
}

TEST(BoxMap, CoversRandomRegionsExactlyAndWithoutOverlap) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    BoxMap<int> map(box_of(0, 0, 9, 7), 0);
    std::vector<std::vector<int>> expected(9, std::vector<int>(7, 0));
    std::vector<Box> regions;
    for (std::uint32_t slot = 1; slot <= 12; ++slot) {
      const std::size_t row = random() % 9;
      const std::size_t column = random() % 7;
      const Box region = box_of(row, column, 1 + random() % (9 - row), 1 + random() % (7 - column));
      regions.push_back(region);
      const auto cover = map.cover(region, slot);
      ASSERT_EQ(elements(map, cover), region.shape.elements());
      for (const std::uint32_t i : cover) {
        ASSERT_TRUE(region.contains(map[i].box));
        map[i].state = static_cast<int>(slot);
      }
      for (std::size_t r = row; r < region.end(0); ++r)
        for (std::size_t c = column; c < region.end(1); ++c) expected[r][c] = static_cast<int>(slot);
    }
    // Old regions are still covered exactly after later cuts, and every element has the state last given to it.
    for (std::uint32_t slot = 1; slot <= regions.size(); ++slot)
      ASSERT_EQ(elements(map, map.cover(regions[slot - 1], slot)), regions[slot - 1].shape.elements());
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (std::uint32_t i = 0; i < map.size(); ++i)
      for (std::size_t r = map[i].box.offset[0]; r < map[i].box.end(0); ++r)
        for (std::size_t c = map[i].box.offset[1]; c < map[i].box.end(1); ++c) {
          ASSERT_TRUE(seen.emplace(r, c).second) << "element covered twice";
          ASSERT_EQ(map[i].state, expected[r][c]);
        }
    ASSERT_EQ(seen.size(), 63U);
  }
}

}  // namespace
}  // namespace hocket::graph
