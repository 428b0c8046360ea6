// SPDX-License-Identifier: Apache-2.0
/// StarPU: one handle for each datum, dependencies inferred from the accesses (sequential consistency of handles, its
/// default). Tasks are made with starpu_task_create, which costs less than its starpu_task_insert. The submitting
/// thread is none of the workers. Scheduler: lws, StarPU's default for tasks without performance models. Its idle
/// workers poll with a growing pause, as Debian builds it.
#include <starpu.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/contender.hpp"
#include "engine/two_submitters.hpp"

namespace hocket::bench {
namespace {

void check(int status, const char* what) {
  if (status != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(status));
}

/// StarPU takes long to start: it runs until the number of workers changes, or the program ends.
class Session {
 public:
  static void with(int workers) {
    static std::unique_ptr<Session> session;
    if (session && session->workers_ == workers) return;
    session.reset();
    session = std::make_unique<Session>(workers);
  }
  explicit Session(int workers) : workers_(workers) {
    starpu_conf configuration;
    starpu_conf_init(&configuration);
    configuration.ncpus = workers;
    configuration.ncuda = 0;
    configuration.nopencl = 0;
    configuration.sched_policy_name = "lws";
    check(starpu_init(&configuration), "starpu_init");
    if (starpu_cpu_worker_get_count() != static_cast<unsigned>(workers))
      throw std::runtime_error("StarPU started " + std::to_string(starpu_cpu_worker_get_count()) +
                               " workers");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { starpu_shutdown(); }

 private:
  int workers_;
};

template <Body body>
void kernel(void** /*buffers*/, void* argument) {
  if constexpr (kKnowsItsTask<body>) {
    execute<body>(*static_cast<const std::uint32_t*>(argument));
  } else {
    execute<body>(0);
  }
}

void hold(void** /*buffers*/, void* argument) { static_cast<Gate*>(argument)->hold(); }

template <Body body>
class StarPu final : public Contender {
 public:
  explicit StarPu(const Setting& setting)
      : workload_(setting.workload), workers_(setting.workers), memory_(setting.workload.data) {
    Session::with(workers_);
    if (workload_.kind.form == Form::TwoSubmitters) submitters_.emplace();
    handles_.resize(memory_.size());
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      starpu_variable_data_register(&handles_[i], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&memory_[i]),
                                    sizeof(int));
    }
    for (std::size_t reads = 0; reads <= 5; ++reads) {
      for (std::size_t writes = 0; writes <= 2; ++writes) {
        starpu_codelet& codelet = codelets_[3 * reads + writes];
        starpu_codelet_init(&codelet);
        codelet.cpu_funcs[0] = kernel<body>;
        codelet.nbuffers = static_cast<int>(reads + writes);
        for (std::size_t i = 0; i < reads + writes; ++i) codelet.modes[i] = i < reads ? STARPU_R : STARPU_RW;
      }
    }
    starpu_codelet_init(&holder_);
    holder_.cpu_funcs[0] = hold;
    if constexpr (kKnowsItsTask<body>) {
      numbers_.resize(workload_.tasks);
      for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = static_cast<std::uint32_t>(i);
    }
  }
  ~StarPu() override {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }

  void run() override {
    for (std::size_t round = 0; round < workload_.rounds; ++round) {
      if (submitters_) {
        submitters_->run([this, half = workload_.tasks / 2](std::size_t which) {
          submit(which * half, (which + 1) * half);
        });
      } else {
        submit(0, workload_.tasks);
      }
      check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    }
  }

  void run_held(Gate& gate) override {
    for (int worker = 0; worker < workers_; ++worker) {
      starpu_task* task = starpu_task_create();
      task->cl = &holder_;
      task->cl_arg = &gate;
      check(starpu_task_submit(task), "starpu_task_submit");
    }
    gate.wait_until_held(workers_);
    gate.begin();
    submit(0, workload_.tasks);
    gate.all_submitted();
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
  }

 private:
  void submit(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const Workload::Accesses access = workload_.accesses(i);
      starpu_task* task = starpu_task_create();
      task->cl = &codelets_[3 * access.reads + access.writes()];
      for (std::size_t k = 0; k < access.data.size(); ++k) task->handles[k] = handles_[access.data[k]];
      if constexpr (kKnowsItsTask<body>) task->cl_arg = &numbers_[i];
      check(starpu_task_submit(task), "starpu_task_submit");
    }
  }

  const Workload& workload_;
  int workers_;
  std::optional<TwoSubmitters> submitters_;
  std::vector<int> memory_;
  std::vector<starpu_data_handle_t> handles_;
  std::array<starpu_codelet, 18> codelets_{};
  starpu_codelet holder_{};
  std::vector<std::uint32_t> numbers_;
};

std::unique_ptr<Contender> starpu(const Setting& setting) { return make_for_body<StarPu>(setting); }

// Tasks of StarPU must not wait for tasks.
bool fits(const Kind& kind, int /*workers*/) { return kind.form != Form::ForkJoin; }

}  // namespace

std::span<const Entry> runtimes() {
  static constexpr std::array<Entry, 1> kRuntimes{{{"starpu", fits, starpu}}};
  return kRuntimes;
}

}  // namespace hocket::bench
