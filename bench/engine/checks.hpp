// SPDX-License-Identifier: Apache-2.0
/// What is found out about a runtime besides its times: whether it does the work, and how much memory it takes.
#pragma once

#include <optional>
#include <string>

#include "engine/contender.hpp"

namespace hocket::bench {

/// Runs the workload twice on one contender and checks that each task ran once each time (in each round), and after
/// all those that it depends on. Empty where that is so, else what is wrong; `skipped` where the runtime has nothing
/// for the workload.
struct Verdict {
  bool skipped = false;
  std::string wrong;
};
Verdict verify(const Entry& runtime, const Workload& workload, int workers);

/// See gate.hpp. Nothing where the runtime or the pattern does not allow it.
std::optional<double> bytes_per_task(const Entry& runtime, const Workload& workload, int workers);

}  // namespace hocket::bench
