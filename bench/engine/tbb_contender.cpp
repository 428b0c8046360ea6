// SPDX-License-Identifier: Apache-2.0
/// oneTBB: its flow graph, built and run, or built once and run again, with edges given by hand; and its task group,
/// where counters of predecessors written here take the place of a graph, and a task returns the one to run next
/// (scheduler bypass, in this version of oneTBB a preview). The calling thread is one of the workers.
#include "engine/tbb_contender.hpp"

#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1  // tasks may return the next one
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/two_submitters.hpp"

namespace hocket::bench {
namespace {

namespace flow = tbb::flow;

/// So many threads, the caller among them, while it lives.
class Workers {
 public:
  explicit Workers(int workers)
      : workers_(workers),
        control_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers)) {}

  /// Keeps all but the caller busy until the gate opens; `holders` then ends by itself.
  void hold(tbb::task_group& holders, Gate& gate) const {
    for (int worker = 1; worker < workers_; ++worker) holders.run([&gate] { gate.hold(); });
    gate.wait_until_held(workers_ - 1);
  }
  int count() const noexcept { return workers_; }

 private:
  int workers_;
  tbb::global_control control_;
};

/// A flow graph of some tasks of a workload, neighbours in its order.
template <Body body>
class BuiltGraph {
 public:
  BuiltGraph(const Workload& workload, std::size_t first, std::size_t last) {
    for (std::size_t task = first; task < last; ++task) add(task);
    for (std::size_t task = first; task < last; ++task)
      for (const std::uint32_t successor : workload.successors(task))
        flow::make_edge(nodes_[task - first], nodes_[successor - first]);
    for (std::size_t task = first; task < last; ++task)
      if (workload.predecessor_counts()[task] == 0) roots_.push_back(&nodes_[task - first]);
  }
  void start() {
    for (Node* root : roots_) root->try_put(flow::continue_msg());
  }
  void wait() { graph_.wait_for_all(); }

 private:
  using Node = flow::continue_node<flow::continue_msg>;
  void add(std::size_t task) {
    if constexpr (kKnowsItsTask<body>) {
      nodes_.emplace_back(graph_, [task](const flow::continue_msg&) { execute<body>(task); });
    } else {
      nodes_.emplace_back(graph_, [](const flow::continue_msg&) { execute<body>(0); });
    }
  }

  flow::graph graph_;
  std::deque<Node> nodes_;
  std::vector<Node*> roots_;
};

template <Body body>
class FlowGraph final : public Contender {
 public:
  explicit FlowGraph(const Setting& setting) : workload_(setting.workload), workers_(setting.workers) {
    if (workload_.kind.form == Form::TwoSubmitters) submitters_.emplace();
  }

  void run() override {
    if (submitters_) {  // each thread has a graph of its own
      submitters_->run([this, half = workload_.tasks / 2](std::size_t which) {
        build_and_run(which * half, (which + 1) * half);
      });
      return;
    }
    for (std::size_t round = 0; round < workload_.rounds; ++round) build_and_run(0, workload_.tasks);
  }

  void run_held(Gate& gate) override {
    tbb::task_group holders;
    workers_.hold(holders, gate);
    gate.begin();
    BuiltGraph<body> graph(workload_, 0, workload_.tasks);
    graph.start();
    gate.all_submitted();
    graph.wait();
    holders.wait();
  }

 private:
  void build_and_run(std::size_t first, std::size_t last) {
    BuiltGraph<body> graph(workload_, first, last);
    graph.start();
    graph.wait();
  }

  const Workload& workload_;
  Workers workers_;
  std::optional<TwoSubmitters> submitters_;
};

template <Body body>
class FlowGraphReplay final : public Contender {
 public:
  explicit FlowGraphReplay(const Setting& setting)
      : workload_(setting.workload), workers_(setting.workers), graph_(workload_, 0, workload_.tasks) {}

  void run() override {
    for (std::size_t round = 0; round < workload_.rounds; ++round) {
      graph_.start();
      graph_.wait();
    }
  }

  void run_held(Gate& gate) override { FlowGraph<body>({workload_, body, workers_.count()}).run_held(gate); }

 private:
  const Workload& workload_;
  Workers workers_;
  BuiltGraph<body> graph_;
};

template <Body body>
class TaskGroup final : public Contender {
 public:
  explicit TaskGroup(const Setting& setting) : workload_(setting.workload), workers_(setting.workers) {
    if (workload_.kind.form == Form::TwoSubmitters) submitters_.emplace();
    if (workload_.kind.form != Form::ForkJoin)
      waiting_ = std::vector<std::atomic<std::uint32_t>>(workload_.tasks);
  }

  void run() override {
    switch (workload_.kind.form) {
      case Form::ForkJoin:
        next_ = 0;
        if (fibonacci(workload_.argument) != expected_fibonacci(workload_.argument))
          throw std::runtime_error("tbb_task_group: the Fibonacci number is wrong");
        break;
      case Form::TwoSubmitters:
        submitters_->run([this, half = workload_.tasks / 2](std::size_t which) {
          tbb::task_group group;
          submit(group, which * half, (which + 1) * half);
          group.wait();
        });
        break;
      case Form::Tasks:
        for (std::size_t round = 0; round < workload_.rounds; ++round) {
          tbb::task_group group;
          submit(group, 0, workload_.tasks);
          group.wait();
        }
    }
  }

  void run_held(Gate& gate) override {
    tbb::task_group holders;
    workers_.hold(holders, gate);
    tbb::task_group group;
    waiting_ = std::vector<std::atomic<std::uint32_t>>();
    gate.begin();
    waiting_ = std::vector<std::atomic<std::uint32_t>>(workload_.tasks);
    submit(group, 0, workload_.tasks);
    gate.all_submitted();
    group.wait();
    holders.wait();
  }

 private:
  void submit(tbb::task_group& group, std::size_t first, std::size_t last) {
    const auto counts = workload_.predecessor_counts();
    for (std::size_t task = first; task < last; ++task)
      waiting_[task].store(counts[task], std::memory_order_relaxed);
    for (std::size_t task = first; task < last; ++task)
      if (counts[task] == 0) group.run(deferred(group, task));
  }

  tbb::task_handle deferred(tbb::task_group& group, std::size_t task) {
    return group.defer([this, &group, task] { return step(group, task); });
  }
  // Runs a task; the first that it makes ready is handed to the scheduler as the next one, the others are spawned.
  tbb::task_handle step(tbb::task_group& group, std::size_t task) {
    execute<body>(task);
    tbb::task_handle next;
    for (const std::uint32_t successor : workload_.successors(task)) {
      if (waiting_[successor].fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      tbb::task_handle ready = deferred(group, successor);
      if (next) {
        group.run(std::move(ready));
      } else {
        next = std::move(ready);
      }
    }
    return next;
  }

  std::uint64_t fibonacci(std::uint32_t n) {
    if (n < 2) return n;
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    tbb::task_group group;
    group.run([this, n, &x] { call(n - 1, x); });
    group.run([this, n, &y] { call(n - 2, y); });
    group.wait();
    return x + y;
  }
  void call(std::uint32_t n, std::uint64_t& result) {
    if constexpr (body == Body::Stamp) execute<body>(next_.fetch_add(1));
    result = fibonacci(n);
  }

  const Workload& workload_;
  Workers workers_;
  std::optional<TwoSubmitters> submitters_;
  std::vector<std::atomic<std::uint32_t>> waiting_;  // for so many predecessors
  std::atomic<std::size_t> next_{0};                 // stamps of tasks without numbers
};

}  // namespace

std::unique_ptr<Contender> tbb_flow_graph(const Setting& setting) {
  return make_for_body<FlowGraph>(setting);
}

std::unique_ptr<Contender> tbb_flow_graph_replay(const Setting& setting) {
  return make_for_body<FlowGraphReplay>(setting);
}

std::unique_ptr<Contender> tbb_task_group(const Setting& setting) {
  return make_for_body<TaskGroup>(setting);
}

}  // namespace hocket::bench
