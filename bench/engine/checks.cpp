// SPDX-License-Identifier: Apache-2.0
#include "engine/checks.hpp"

namespace hocket::bench {

Verdict verify(const Entry& runtime, const Workload& workload, int workers) {
  if (!runtime.fits(workload.kind, workers)) return {.skipped = true, .wrong = {}};
  const auto contender = runtime.make({workload, Body::Stamp, workers});
  const int times = workload.kind.once ? 1 : 2;
  for (int time = 0; time < times; ++time) {
    stamps.reset(workload.tasks);
    contender->run();
    const std::string wrong = stamps.check(workload, workload.rounds);
    if (!wrong.empty()) return {.skipped = false, .wrong = "run " + std::to_string(time + 1) + ": " + wrong};
  }
  return {};
}

std::optional<double> bytes_per_task(const Entry& runtime, const Workload& workload, int workers) {
  if (workload.kind.form != Form::Tasks || workload.rounds != 1) return std::nullopt;
  if (!runtime.fits(workload.kind, workers)) return std::nullopt;
  const auto contender = runtime.make({workload, Body::Count, workers});
  Gate gate(workload.tasks);
  contender->run_held(gate);
  return gate.bytes_per_task();
}

}  // namespace hocket::bench
