// SPDX-License-Identifier: Apache-2.0
/// Hocket: tasks submitted one by one, their dependencies inferred from what they do with their data; and the same
/// tasks recorded once as a graph and run again.
#include "engine/hocket_contender.hpp"

#include <hocket/hocket.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/two_submitters.hpp"

namespace hocket::bench {
namespace {

using Read = View<const int>;
using Write = View<int>;

template <Body body, class... Views>
auto codelet(const char* name) {
  if constexpr (kKnowsItsTask<body>) {
    return Codelet{name, cpu([](std::uint32_t task, Views...) { execute<body>(task); })};
  } else {
    return Codelet{name, cpu([](Views...) { execute<body>(0); })};
  }
}

/// One codelet for each way in which tasks use data.
template <Body body>
class Tasks {
 public:
  Tasks(const Workload& workload, const std::vector<Data<int>>& data) : workload_(workload), data_(data) {}

  /// `target`: a runtime or a graph.
  template <class Target>
  void submit(Target& target, std::size_t first, std::size_t last) const {
    if (workload_.kind.one_off) {
      for (std::size_t task = first; task < last; ++task) {
        target.submit(cpu([task](Write) { execute<body>(task); }), data_[workload_.accesses(task).data[0]]);
      }
      return;
    }
    for (std::size_t task = first; task < last; ++task) {
      const Workload::Accesses access = workload_.accesses(task);
      switch (4 * access.reads + access.writes()) {
        case 1:
          one(target, task, access, write_);
          break;
        case 2:
          one(target, task, access, two_writes_);
          break;
        case 4:
          one(target, task, access, read_);
          break;
        case 5:
          one(target, task, access, read_write_);
          break;
        case 9:
          one(target, task, access, two_reads_write_);
          break;
        case 13:
          one(target, task, access, three_reads_write_);
          break;
        case 17:
          one(target, task, access, four_reads_write_);
          break;
        case 21:
          one(target, task, access, five_reads_write_);
          break;
        default:
          throw std::logic_error("no codelet uses data in this way");
      }
    }
  }

 private:
  template <class Target, class... Ps>
  void one(Target& target, std::size_t task, const Workload::Accesses& access,
           const Codelet<void(Ps...)>& codelet) const {
    constexpr std::size_t kViews = sizeof...(Ps) - (kKnowsItsTask<body> ? 1 : 0);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (kKnowsItsTask<body>) {
        target.submit(codelet, static_cast<std::uint32_t>(task), data_[access.data[I]]...);
      } else {
        target.submit(codelet, data_[access.data[I]]...);
      }
    }
    (std::make_index_sequence<kViews>{});
  }

  template <class... Views>
  using CodeletOf = decltype(codelet<body, Views...>(""));

  const Workload& workload_;
  const std::vector<Data<int>>& data_;
  CodeletOf<Write> write_ = codelet<body, Write>("w");
  CodeletOf<Write, Write> two_writes_ = codelet<body, Write, Write>("ww");
  CodeletOf<Read> read_ = codelet<body, Read>("r");
  CodeletOf<Read, Write> read_write_ = codelet<body, Read, Write>("rw");
  CodeletOf<Read, Read, Write> two_reads_write_ = codelet<body, Read, Read, Write>("rrw");
  CodeletOf<Read, Read, Read, Write> three_reads_write_ = codelet<body, Read, Read, Read, Write>("rrrw");
  CodeletOf<Read, Read, Read, Read, Write> four_reads_write_ =
      codelet<body, Read, Read, Read, Read, Write>("rrrrw");
  CodeletOf<Read, Read, Read, Read, Read, Write> five_reads_write_ =
      codelet<body, Read, Read, Read, Read, Read, Write>("rrrrrw");
};

RuntimeOptions options_for(int workers) {
  RuntimeOptions options;
  options.devices = "cpu:" + std::to_string(workers);
  return options;
}

/// The runtime, its data, and the tasks.
template <Body body>
struct World {
  explicit World(const Setting& setting)
      : workload(setting.workload),
        workers(setting.workers),
        runtime(options_for(setting.workers)),
        memory(setting.workload.data),
        tasks(setting.workload, data) {
    data.reserve(memory.size());
    for (int& element : memory) data.push_back(runtime.data(std::span<int>(&element, 1)));
  }

  void hold(Gate& gate) {
    for (int worker = 0; worker < workers; ++worker) runtime.submit(cpu([&gate] { gate.hold(); }));
    gate.wait_until_held(workers);
  }

  const Workload& workload;
  int workers;
  Runtime runtime;
  std::vector<int> memory;
  std::vector<Data<int>> data;
  Tasks<body> tasks;
};

template <Body body>
class Streaming final : public Contender {
 public:
  explicit Streaming(const Setting& setting) : world_(setting) {
    if (setting.workload.kind.form == Form::TwoSubmitters) submitters_.emplace();
  }

  void run() override {
    const Workload& work = world_.workload;
    switch (work.kind.form) {
      case Form::ForkJoin:
        next_ = 0;
        if (fibonacci(work.argument) != expected_fibonacci(work.argument))
          throw std::runtime_error("hocket: the Fibonacci number is wrong");
        world_.runtime.wait();
        break;
      case Form::TwoSubmitters:
        submitters_->run([this, half = work.tasks / 2](std::size_t which) {
          world_.tasks.submit(world_.runtime, which * half, (which + 1) * half);
        });
        world_.runtime.wait();
        break;
      case Form::Tasks:
        for (std::size_t round = 0; round < work.rounds; ++round) {
          world_.tasks.submit(world_.runtime, 0, work.tasks);
          world_.runtime.wait();
        }
    }
  }

  void run_held(Gate& gate) override {
    world_.hold(gate);
    gate.begin();
    world_.tasks.submit(world_.runtime, 0, world_.workload.tasks);
    gate.all_submitted();
    world_.runtime.wait();
  }

 private:
  std::uint64_t fibonacci(std::uint32_t n) {
    if (n < 2) return n;
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    const Task first = spawn(n - 1, x);
    const Task second = spawn(n - 2, y);
    first.get();
    second.get();
    return x + y;
  }
  Task spawn(std::uint32_t n, std::uint64_t& result) {
    return world_.runtime.submit(cpu([this, n, &result] {
      if constexpr (body == Body::Stamp) execute<body>(next_.fetch_add(1));
      result = fibonacci(n);
    }));
  }

  World<body> world_;
  std::optional<TwoSubmitters> submitters_;
  std::atomic<std::size_t> next_{0};  // stamps of tasks without numbers
};

template <Body body>
class Replay final : public Contender {
 public:
  explicit Replay(const Setting& setting) : world_(setting), graph_(record()) {}

  void run() override {
    for (std::size_t round = 0; round < world_.workload.rounds; ++round) world_.runtime.run(graph_).get();
  }

  void run_held(Gate& gate) override {
    world_.hold(gate);
    gate.begin();
    const Graph graph = record();
    const Task run = world_.runtime.run(graph);
    gate.all_submitted();
    run.get();
    world_.runtime.wait();
  }

 private:
  Graph record() {
    return world_.runtime.record(
        [this](Graph& graph) { world_.tasks.submit(graph, 0, world_.workload.tasks); });
  }

  World<body> world_;
  Graph graph_;
};

}  // namespace

std::unique_ptr<Contender> hocket_streaming(const Setting& setting) {
  return make_for_body<Streaming>(setting);
}

std::unique_ptr<Contender> hocket_replay(const Setting& setting) { return make_for_body<Replay>(setting); }

}  // namespace hocket::bench
