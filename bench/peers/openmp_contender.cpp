// SPDX-License-Identifier: Apache-2.0
/// OpenMP tasks with `depend` clauses: one thread of a team makes them all. Compiled with g++ it runs on libgomp, with
/// clang++ on libomp; HOCKET_OPENMP_RUNTIME is the name. The submitting thread is one of the workers.
#include <array>
#include <stdexcept>
#include <vector>

#include "engine/contender.hpp"

namespace hocket::bench {
namespace {

template <Body body>
class OpenMp final : public Contender {
 public:
  explicit OpenMp(const Setting& setting)
      : workload_(setting.workload), workers_(setting.workers), memory_(setting.workload.data) {}

  void run() override {
#pragma omp parallel num_threads(workers_)
    {
      if (workload_.kind.form == Form::TwoSubmitters) {
#pragma omp for schedule(static, 1) nowait
        for (std::size_t which = 0; which < 2; ++which) {
          const std::size_t half = workload_.tasks / 2;
          submit(which * half, (which + 1) * half);
        }
      } else {
#pragma omp single
        run_in_team();
      }
    }
  }

  void run_held(Gate& gate) override {
#pragma omp parallel num_threads(workers_)
#pragma omp single
    {
      for (int worker = 1; worker < workers_; ++worker) {
#pragma omp task shared(gate)
        gate.hold();
      }
      gate.wait_until_held(workers_ - 1);
      gate.begin();
      submit(0, workload_.tasks);
      gate.all_submitted();
    }
  }

 private:
  void run_in_team() {
    if (workload_.kind.form == Form::ForkJoin) {
      next_ = 0;
      if (fibonacci(workload_.argument) != expected_fibonacci(workload_.argument))
        throw std::runtime_error("OpenMP: the Fibonacci number is wrong");
      return;
    }
    for (std::size_t round = 0; round < workload_.rounds; ++round) {
      submit(0, workload_.tasks);
#pragma omp taskwait
    }
  }

  void submit(std::size_t first, std::size_t last) {
    int* const memory = memory_.data();
    for (std::size_t task = first; task < last; ++task) {
      const Workload::Accesses access = workload_.accesses(task);
      std::array<int*, 6> p{};
      for (std::size_t i = 0; i < access.data.size(); ++i) p[i] = memory + access.data[i];
      switch (4 * access.reads + access.writes()) {
        case 1:
#pragma omp task depend(inout : *p[0])
          execute<body>(task);
          break;
        case 2:
#pragma omp task depend(inout : *p[0], *p[1])
          execute<body>(task);
          break;
        case 4:
#pragma omp task depend(in : *p[0])
          execute<body>(task);
          break;
        case 5:
#pragma omp task depend(in : *p[0]) depend(inout : *p[1])
          execute<body>(task);
          break;
        case 9:
#pragma omp task depend(in : *p[0], *p[1]) depend(inout : *p[2])
          execute<body>(task);
          break;
        case 13:
#pragma omp task depend(in : *p[0], *p[1], *p[2]) depend(inout : *p[3])
          execute<body>(task);
          break;
        case 17:
#pragma omp task depend(in : *p[0], *p[1], *p[2], *p[3]) depend(inout : *p[4])
          execute<body>(task);
          break;
        case 21:
#pragma omp task depend(in : *p[0], *p[1], *p[2], *p[3], *p[4]) depend(inout : *p[5])
          execute<body>(task);
          break;
        default:
          throw std::logic_error("no task uses data in this way");
      }
    }
  }

  std::uint64_t fibonacci(std::uint32_t n) {
    if (n < 2) return n;
    std::uint64_t x = 0;
    std::uint64_t y = 0;
#pragma omp task shared(x)
    call(n - 1, x);
#pragma omp task shared(y)
    call(n - 2, y);
#pragma omp taskwait
    return x + y;
  }
  void call(std::uint32_t n, std::uint64_t& result) {
    if constexpr (body == Body::Stamp) execute<body>(next_.fetch_add(1));
    result = fibonacci(n);
  }

  const Workload& workload_;
  int workers_;
  std::vector<int> memory_;
  std::atomic<std::size_t> next_{0};  // stamps of tasks without numbers
};

std::unique_ptr<Contender> openmp(const Setting& setting) { return make_for_body<OpenMp>(setting); }

// Two threads submit only where the team has two.
bool fits(const Kind& kind, int workers) { return kind.form != Form::TwoSubmitters || workers > 1; }

}  // namespace

std::span<const Entry> runtimes() {
  static constexpr std::array<Entry, 1> kRuntimes{{{HOCKET_OPENMP_RUNTIME, fits, openmp}}};
  return kRuntimes;
}

}  // namespace hocket::bench
