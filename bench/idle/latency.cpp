// SPDX-License-Identifier: Apache-2.0
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "idle/probes.hpp"

namespace hocket::bench::idle {

void latency(const Extent& extent) {
  constexpr unsigned kWorkers = 2;
  const int tasks = extent.quick ? 2000 : 20000;
  Runtime runtime(cpu_workers(kWorkers));
  const Codelet touch{"touch", cpu([](View<int> x) { ++x[0]; })};
  const Data<int> data = runtime.data<int>({1});
  runtime.overwrite(data)[0] = 0;
  const Graph graph = runtime.record([&](Graph& recording) { recording.submit(touch, data); });
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, kWorkers);
  int counter = 0;
  const auto sample = [tasks](const char* which, const char* runtime_name, const auto& once) {
    const auto begin = Clock::now();
    for (int i = 0; i < tasks; ++i) once();
    print_sample("latency", which, runtime_name, kWorkers, nanoseconds_since(begin) / tasks, "ns");
  };
  for (int round = 0; round < extent.rounds; ++round) {
    sample("submit and get", "hocket", [&] { runtime.submit(touch, data).get(); });
    sample("run a graph of one task and get", "hocket", [&] { runtime.run(graph).get(); });
    sample("run and wait", "tbb::task_group", [&] {
      tbb::task_group group;
      group.run([&] { ++counter; });
      group.wait();
    });
  }
  if (runtime.read(data)[0] != 2 * tasks * extent.rounds || counter != tasks * extent.rounds)
    throw std::runtime_error("latency: tasks were left out");
}

}  // namespace hocket::bench::idle
