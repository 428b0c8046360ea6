// SPDX-License-Identifier: Apache-2.0
/// What an empty task costs: built and run on Hocket (streaming, dependencies inferred from data), run again from a
/// recorded graph, and on oneTBB's flow graph with its edges given by hand. CPU time of the process per task.
///   build/release/bench/hocket_bench_empty_tasks --benchmark_repetitions=5 --benchmark_enable_random_interleaving
#include <benchmark/benchmark.h>
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>

#include <hocket/hocket.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace hk = hocket;
namespace flow = tbb::flow;

constexpr int kTasks = 2000;

const hk::Codelet<void(hk::View<int>)>& touch() {
  static const hk::Codelet codelet{"touch", hk::cpu([](hk::View<int>) {})};
  return codelet;
}

/// `chain`: all tasks on one datum; otherwise each on its own.
void submit_all(hk::Submitter& to, const std::vector<hk::Data<int>>& data, bool chain) {
  for (int i = 0; i < kTasks; ++i) to.submit(touch(), data[chain ? 0 : static_cast<std::size_t>(i)]);
}

struct World {
  explicit World(const benchmark::State& state) : runtime(options(state)), memory(kTasks, 0) {
    for (int& element : memory) data.push_back(runtime.data(std::span<int>(&element, 1)));
  }
  static hk::RuntimeOptions options(const benchmark::State& state) {
    hk::RuntimeOptions options;
    options.devices = "cpu:" + std::to_string(state.range(0));
    return options;
  }
  hk::Runtime runtime;
  std::vector<int> memory;
  std::vector<hk::Data<int>> data;
};

void hocket_streaming(benchmark::State& state, bool chain) {
  World world(state);
  for (auto _ : state) {
    submit_all(world.runtime, world.data, chain);
    world.runtime.wait();
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
}

void hocket_replay(benchmark::State& state, bool chain) {
  World world(state);
  const hk::Graph graph =
      world.runtime.record([&](hk::Graph& recording) { submit_all(recording, world.data, chain); });
  for (auto _ : state) world.runtime.run(graph).get();
  state.SetItemsProcessed(state.iterations() * kTasks);
}

void tbb_flow_graph(benchmark::State& state, bool chain) {
  const tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(state.range(0)));
  using Node = flow::continue_node<flow::continue_msg>;
  for (auto _ : state) {
    flow::graph graph;
    std::vector<std::unique_ptr<Node>> nodes;
    for (int i = 0; i < kTasks; ++i) {
      nodes.push_back(std::make_unique<Node>(graph, [](const flow::continue_msg&) {}));
      if (chain && i > 0) flow::make_edge(*nodes[static_cast<std::size_t>(i) - 1], *nodes.back());
    }
    for (int i = 0; i < (chain ? 1 : kTasks); ++i)
      nodes[static_cast<std::size_t>(i)]->try_put(flow::continue_msg());
    graph.wait_for_all();
  }
  state.SetItemsProcessed(state.iterations() * kTasks);
}

void workers(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("workers")->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime();
}

BENCHMARK_CAPTURE(hocket_streaming, independent, false)->Apply(workers);
BENCHMARK_CAPTURE(hocket_replay, independent, false)->Apply(workers);
BENCHMARK_CAPTURE(tbb_flow_graph, independent, false)->Apply(workers);
BENCHMARK_CAPTURE(hocket_streaming, chain, true)->Apply(workers);
BENCHMARK_CAPTURE(hocket_replay, chain, true)->Apply(workers);
BENCHMARK_CAPTURE(tbb_flow_graph, chain, true)->Apply(workers);

}  // namespace
