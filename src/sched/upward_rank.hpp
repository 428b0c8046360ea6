// SPDX-License-Identifier: Apache-2.0
//
// The upward rank of Topcuoglu, Hariri and Wu (IEEE TPDS 13(3), 2002, equation 8) and the list order that it
// gives.
//
// A processor of the paper is a worker here: mean execution times weigh each device by its workers and skip
// the devices that may not run the task; mean communication times are over all ordered pairs of distinct
// workers. With one worker per device these are exactly the paper's.
//
// Pure functions; any thread. Times in seconds.
#pragma once

#include <cstdint>
#include <hocket/problem.hpp>
#include <vector>

namespace hocket::sched {

// For each task, the length of the longest path from its start to the end of the graph, in mean execution and
// mean communication times. O(tasks x devices + edges + devices^2).
std::vector<double> upward_rank(const Problem& problem);

// All tasks by descending rank, equal ranks by ascending task number, and each task after its predecessors
// even where tasks of cost zero give them equal ranks. Ranks that differ by rounding error only count as
// equal. O((tasks + edges) x log tasks).
std::vector<std::uint32_t> order_by_descending_rank(const Problem& problem, const std::vector<double>& rank);

}  // namespace hocket::sched
