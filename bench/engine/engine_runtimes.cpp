// SPDX-License-Identifier: Apache-2.0
/// The runtimes of the program hocket_bench_engine.
#include <array>

#include "engine/hocket_contender.hpp"
#include "engine/tbb_contender.hpp"

namespace hocket::bench {

std::span<const Entry> runtimes() {
  static constexpr std::array<Entry, 5> kRuntimes{{
      {"hocket", hocket_streaming},
      {"hocket_replay", hocket_replay},
      {"tbb_flow_graph", tbb_flow_graph},
      {"tbb_flow_graph_replay", tbb_flow_graph_replay},
      {"tbb_task_group", tbb_task_group},
  }};
  return kRuntimes;
}

}  // namespace hocket::bench
