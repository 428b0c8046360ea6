// SPDX-License-Identifier: Apache-2.0
/// Dense problems on StarPU. Modes are its schedulers, as in STARPU_SCHED. Its performance models lie below
/// STARPU_HOME; they are calibrated by a run with STARPU_CALIBRATE=1.
#include <starpu.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "dense/blas.hpp"
#include "dense/order.hpp"
#include "dense/program.hpp"

namespace {

using namespace hocket::bench::dense;

void check(int status, const char* what) {
  if (status != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(status));
}

class Session {
 public:
  explicit Session(const Options& options) {
    openblas_set_num_threads(1);
    starpu_conf_init(&configuration_);
    configuration_.ncpus = static_cast<int>(options.workers);
    configuration_.ncuda = 0;
    configuration_.nopencl = 0;
    scheduler_ = options.mode.empty() ? "dmdas" : options.mode;
    configuration_.sched_policy_name = scheduler_.c_str();
    check(starpu_init(&configuration_), "starpu_init");
    if (starpu_cpu_worker_get_count() != options.workers)
      throw std::runtime_error("StarPU started " + std::to_string(starpu_cpu_worker_get_count()) +
                               " workers");
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { starpu_shutdown(); }

 private:
  starpu_conf configuration_{};
  std::string scheduler_;
};

/// A tile as a kernel sees it: for StarPU, rows of this are columns.
template <class T>
struct Tile {
  explicit Tile(void* buffer)
      : memory(reinterpret_cast<T*>(STARPU_MATRIX_GET_PTR(buffer))),
        n(static_cast<int>(STARPU_MATRIX_GET_NX(buffer))),
        ld(static_cast<int>(STARPU_MATRIX_GET_LD(buffer))) {}
  T* memory;
  int n;
  int ld;
};

template <class T>
void potrf_task(void** buffers, void*) {
  const Tile<T> a(buffers[0]);
  static_cast<void>(potrf(a.n, a.memory, a.ld));  // a wrong factor shows in the residual
}
template <class T>
void trsm_task(void** buffers, void*) {
  const Tile<T> l(buffers[0]);
  const Tile<T> b(buffers[1]);
  trsm(b.n, l.memory, l.ld, b.memory, b.ld);
}
template <class T>
void syrk_task(void** buffers, void*) {
  const Tile<T> a(buffers[0]);
  const Tile<T> c(buffers[1]);
  syrk(c.n, a.memory, a.ld, c.memory, c.ld);
}
template <class T>
void update_task(void** buffers, void*) {
  const Tile<T> a(buffers[0]);
  const Tile<T> b(buffers[1]);
  const Tile<T> c(buffers[2]);
  gemm(c.n, CblasTrans, T{-1}, a.memory, a.ld, b.memory, b.ld, T{1}, c.memory, c.ld);
}
template <class T>
void product_task(void** buffers, void* arguments) {
  int first = 0;
  starpu_codelet_unpack_args(arguments, &first);
  const Tile<T> a(buffers[0]);
  const Tile<T> b(buffers[1]);
  const Tile<T> c(buffers[2]);
  gemm(c.n, CblasNoTrans, T{1}, a.memory, a.ld, b.memory, b.ld, first != 0 ? T{0} : T{1}, c.memory, c.ld);
}

/// A codelet that reads all its operands but the last one, with a performance model by history.
struct Kernel {
  Kernel(std::string kernel_name, bool is_float, starpu_cpu_func_t function, int operands)
      : name("hocket_bench_" + kernel_name + (is_float ? "_float" : "_double")) {
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = function;
    codelet.nbuffers = operands;
    for (int i = 0; i < operands; ++i) codelet.modes[i] = i + 1 < operands ? STARPU_R : STARPU_RW;
    codelet.name = name.c_str();
    model.type = STARPU_HISTORY_BASED;
    model.symbol = name.c_str();
    codelet.model = &model;
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  std::string name;
  starpu_perfmodel model{};
  starpu_codelet codelet{};
};

template <class T>
struct Kernels {
  static constexpr bool is_float = std::is_same_v<T, float>;
  Kernel potrf{"potrf", is_float, potrf_task<T>, 1};
  Kernel trsm{"trsm", is_float, trsm_task<T>, 2};
  Kernel syrk{"syrk", is_float, syrk_task<T>, 2};
  Kernel update{"update", is_float, update_task<T>, 3};
  Kernel product{"product", is_float, product_task<T>, 3};
};

/// One set for the whole program: StarPU keeps pointers to the models.
template <class T>
Kernels<T>& kernels() {
  static Kernels<T> all;
  return all;
}

/// The tiles of a matrix, registered with StarPU for as long as this lives.
template <class T>
class Registered {
 public:
  explicit Registered(const Matrix<T>& matrix) : count_(matrix.count()), handles_(count_ * count_) {
    const auto n = static_cast<std::uint32_t>(matrix.tile());
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < count_; ++j)
        starpu_matrix_data_register(&handles_[i * count_ + j], STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(matrix.at(i, j)),
                                    static_cast<std::uint32_t>(matrix.stride()), n, n, sizeof(T));
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }
  starpu_data_handle_t at(std::size_t i, std::size_t j) const noexcept { return handles_[i * count_ + j]; }

 private:
  std::size_t count_;
  std::vector<starpu_data_handle_t> handles_;
};

template <class T>
class CholeskyTasks {
 public:
  explicit CholeskyTasks(const Registered<T>& c) : c_(c) {}

  void potrf(std::size_t k, int urgency) {
    check(
        starpu_task_insert(&kernels<T>().potrf.codelet, STARPU_PRIORITY, urgency, STARPU_RW, c_.at(k, k), 0),
        "starpu_task_insert");
  }
  void trsm(std::size_t i, std::size_t k, int urgency) {
    check(starpu_task_insert(&kernels<T>().trsm.codelet, STARPU_PRIORITY, urgency, STARPU_R, c_.at(k, k),
                             STARPU_RW, c_.at(i, k), 0),
          "starpu_task_insert");
  }
  void syrk(std::size_t i, std::size_t k, int urgency) {
    check(starpu_task_insert(&kernels<T>().syrk.codelet, STARPU_PRIORITY, urgency, STARPU_R, c_.at(i, k),
                             STARPU_RW, c_.at(i, i), 0),
          "starpu_task_insert");
  }
  void gemm(std::size_t i, std::size_t j, std::size_t k, int urgency) {
    check(starpu_task_insert(&kernels<T>().update.codelet, STARPU_PRIORITY, urgency, STARPU_R, c_.at(i, k),
                             STARPU_R, c_.at(j, k), STARPU_RW, c_.at(i, j), 0),
          "starpu_task_insert");
  }

 private:
  const Registered<T>& c_;
};

template <class T>
class Solver {
 public:
  Solver(Session&, const Options& options, Operands<T>& operands)
      : count_(operands.c.count()), c_(operands.c) {
    if (options.problem == "gemm") {
      a_ = std::make_unique<Registered<T>>(operands.a);
      b_ = std::make_unique<Registered<T>>(*operands.b);
    }
  }

  void run() {
    if (a_ == nullptr) {
      CholeskyTasks<T> tasks(c_);
      for_each_cholesky_task(count_, tasks);
    } else {
      for_each_product_task(count_, [this](std::size_t i, std::size_t j, std::size_t k, int urgency) {
        const int first = k == 0 ? 1 : 0;
        check(starpu_task_insert(&kernels<T>().product.codelet, STARPU_PRIORITY, urgency, STARPU_VALUE,
                                 &first, sizeof(first), STARPU_R, a_->at(i, k), STARPU_R, b_->at(k, j),
                                 STARPU_RW, c_.at(i, j), 0),
              "starpu_task_insert");
      });
    }
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
  }

 private:
  std::size_t count_;
  Registered<T> c_;
  std::unique_ptr<Registered<T>> a_;
  std::unique_ptr<Registered<T>> b_;
};

}  // namespace

int main(int argc, char** argv) { return dense_main<Session, Solver>(argc, argv); }
