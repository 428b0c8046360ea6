// SPDX-License-Identifier: Apache-2.0
/// Dependencies from accesses: tasks that use the same data run as if in the order of submission (sequential
/// consistency). A reader waits for the last writer of each part that it reads; a writer waits for the last
/// writer and the readers since.
#pragma once

#include <span>
#include <vector>

#include "graph/datum.hpp"
#include "graph/task_node.hpp"

namespace hocket::graph {

/// Lists that one inference needs, kept by each thread for the next.
struct InferenceScratch {
  struct Predecessor {
    detail::TaskNode* task;
    bool value;
  };
  std::vector<Predecessor> predecessors;
  std::vector<detail::TaskNode*> dropped;  ///< References to release once nobody needs the tasks any more.
};

/// Gives a task its dependencies: on the earlier accesses that conflict with `operands`, and on the tasks `after`.
/// `recorded` is noted as the one that accesses the data now; the two are one task but for a run of a graph, whose
/// first node waits and whose last node is what later tasks wait for. Returns whether `waiting` is ready; where it is
/// not, it may run, be over and be gone at any time from the last link on.
///
/// Cost: O(parts accessed), and O(boxes) at the first use of a region. Any thread; the datums are locked together, in
/// order of their numbers, so that two submissions that share several data are ordered alike on all of them.
///
/// Throws `UninitialisedRead`, without any effect, where an operand reads what nothing has written.
bool infer(InferenceScratch& scratch, detail::TaskNode& waiting, detail::TaskNode& recorded,
           std::span<const detail::DataAccess> operands, std::span<const Task> after);

}  // namespace hocket::graph
