// SPDX-License-Identifier: Apache-2.0
//
// HEFT, heterogeneous earliest finish time: Topcuoglu, Hariri and Wu, "Performance-effective and
// low-complexity task scheduling for heterogeneous computing", IEEE TPDS 13(3), 2002, section 4.1.
//
// Takes the tasks by descending upward rank and places each on the worker where it finishes earliest, in the
// first idle stretch that is long enough (insertion-based). Ties: lower task number, then lower device, then
// lower worker.
//
// O(edges x devices + tasks x workers x search), where a search in a worker's timeline is nearly constant.
#pragma once

#include <hocket/problem.hpp>

namespace hocket::sched {

class HeftPlanner final : public Planner {
 public:
  std::string_view name() const override { return "heft"; }
  Schedule plan(const Problem& problem) const override;
};

}  // namespace hocket::sched
