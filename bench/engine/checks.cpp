// SPDX-License-Identifier: Apache-2.0
#include "engine/checks.hpp"

namespace hocket::bench {

Verdict verify(const Entry& runtime, const Workload& workload, int workers) {
  const auto contender = runtime.make({workload, Body::Stamp, workers});
  if (!contender) return {.skipped = true, .wrong = {}};
  const int times = workload.once ? 1 : 2;
  for (int time = 0; time < times; ++time) {
    stamps.reset(workload.tasks);
    contender->run();
    const std::string wrong = stamps.check(workload, workload.rounds);
    if (!wrong.empty()) return {.skipped = false, .wrong = "run " + std::to_string(time + 1) + ": " + wrong};
  }
  return {};
}

std::optional<double> bytes_per_task(const Entry& runtime, const Workload& workload, int workers) {
  if (workload.form != Form::Tasks || workload.rounds != 1) return std::nullopt;
  const auto contender = runtime.make({workload, Body::Count, workers});
  if (!contender) return std::nullopt;
  Gate gate(workload.tasks);
  contender->run_held(gate);
  return gate.bytes_per_task();
}

}  // namespace hocket::bench
