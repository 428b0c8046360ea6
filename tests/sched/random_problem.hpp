// SPDX-License-Identifier: Apache-2.0
//
// Random scheduling problems for property tests: equal seeds give equal problems.
#pragma once

#include <algorithm>
#include <cstdint>
#include <hocket/problem.hpp>
#include <random>
#include <vector>

namespace hocket::test {

// Up to `max_tasks` tasks (at least one) on 1 to 4 devices of 1 to 4 workers on up to 3 memory nodes; a tenth
// of the tasks cost nothing, a quarter of the (task, device) pairs are forbidden, edges carry bytes, fixed
// seconds, both or neither. Task numbers are shuffled, so that they are no topological order.
inline Problem random_problem(std::uint64_t seed, std::uint32_t max_tasks) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const auto real = [&](double largest) { return largest * static_cast<double>(random() % 10001) / 10000.0; };

  ProblemBuilder builder;
  const std::uint32_t devices = 1 + below(4);
  for (std::uint32_t i = 0; i < devices; ++i) builder.add_device({1 + below(4), below(3)});
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (std::uint32_t to = 0; to < 3; ++to) {
      if (from != to) builder.set_link(from, to, {real(0.5), 1.0 + real(100.0)});
    }
  }
  const std::uint32_t tasks = 1 + below(max_tasks);
  std::vector<double> cost(devices);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const bool free_of_cost = below(10) == 0;
    for (double& seconds : cost) {
      seconds = below(4) == 0 ? kNotAllowed : (free_of_cost ? 0.0 : 0.001 + real(10.0));
    }
    cost[below(devices)] = free_of_cost ? 0.0 : 0.001 + real(10.0);
    builder.add_task(cost);
  }
  std::vector<std::uint32_t> number(tasks);
  for (std::uint32_t i = 0; i < tasks; ++i) number[i] = i;
  std::shuffle(number.begin(), number.end(), random);
  const std::uint32_t edges_per_task = below(4);
  for (std::uint32_t target = 1; target < tasks; ++target) {
    for (std::uint32_t i = 0; i < edges_per_task; ++i) {
      const ProblemEdge edge{below(3) == 0 ? 0.0 : real(200.0), below(2) == 0 ? 0.0 : real(3.0)};
      builder.add_edge(number[below(target)], number[target], edge);
    }
  }
  return builder.build();
}

}  // namespace hocket::test
