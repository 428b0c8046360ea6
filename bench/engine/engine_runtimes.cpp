// SPDX-License-Identifier: Apache-2.0
/// The runtimes of the program hocket_bench_engine.
#include <array>

#include "engine/hocket_contender.hpp"
#include "engine/tbb_contender.hpp"

namespace hocket::bench {

namespace {

bool all(const Kind& /*kind*/, int /*workers*/) { return true; }
bool repeated(const Kind& kind, int /*workers*/) { return kind.repeats(); }
// A node of a flow graph cannot wait for others.
bool flat(const Kind& kind, int /*workers*/) { return kind.form != Form::ForkJoin; }

}  // namespace

std::span<const Entry> runtimes() {
  static constexpr std::array<Entry, 5> kRuntimes{{
      {"hocket", all, hocket_streaming},
      {"hocket_replay", repeated, hocket_replay},
      {"tbb_flow_graph", flat, tbb_flow_graph},
      {"tbb_flow_graph_replay", repeated, tbb_flow_graph_replay},
      {"tbb_task_group", all, tbb_task_group},
  }};
  return kRuntimes;
}

}  // namespace hocket::bench
