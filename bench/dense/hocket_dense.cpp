// SPDX-License-Identifier: Apache-2.0
/// Dense problems on Hocket with the bundled codelets. Modes: `streaming` submits and waits, `replay` runs a graph
/// that was recorded before the clock started (the first run also closes it).
#include <hocket/hocket.hpp>
#include <hocket/kernels.hpp>
#include <optional>

#include "cholesky/cholesky.hpp"
#include "dense/order.hpp"
#include "dense/program.hpp"

namespace {

using namespace hocket::bench::dense;
namespace hk = hocket;

class Session {
 public:
  explicit Session(const Options& options)
      : runtime(runtime_options(options)), replay(options.mode == "replay") {
    if (!options.mode.empty() && options.mode != "streaming" && !replay)
      throw std::invalid_argument("mode must be streaming or replay");
    openblas_set_num_threads(1);
  }

  hk::Runtime runtime;
  bool replay;

 private:
  static hk::RuntimeOptions runtime_options(const Options& options) {
    hk::RuntimeOptions result;
    result.devices = "cpu:" + std::to_string(options.workers);
    return result;
  }
};

template <class T>
hk::Tiles<T, 2> borrow(hk::Runtime& runtime, const Matrix<T>& matrix) {
  std::vector<hk::detail::DataHandle> handles;
  for (std::size_t i = 0; i < matrix.count(); ++i)
    for (std::size_t j = 0; j < matrix.count(); ++j)
      handles.push_back(
          runtime.data(matrix.at(i, j), {matrix.tile(), matrix.tile()}, {matrix.stride(), std::size_t{1}})
              .handle());
  return {std::move(handles), {matrix.count(), matrix.count()}};
}

template <class T>
class Solver {
 public:
  Solver(Session& session, const Options& options, Operands<T>& operands)
      : session_(session), c_(borrow(session.runtime, operands.c)) {
    if (options.problem == "gemm") {
      a_ = borrow(session.runtime, operands.a);
      b_ = borrow(session.runtime, *operands.b);
    }
    if (session.replay) graph_ = session.runtime.record([&](hk::Graph& graph) { submit(graph); });
  }

  void run() {
    if (graph_) {
      session_.runtime.run(*graph_).get();
    } else {
      submit(session_.runtime);
      session_.runtime.wait();
    }
  }

 private:
  void submit(hk::Submitter& to) {
    if (!a_) {
      hk::jobs::cholesky::submit_cholesky<T>(to, c_);
      return;
    }
    for_each_product_task(c_.count(0), [&](std::size_t i, std::size_t j, std::size_t k, int urgency) {
      to.submit({.priority = urgency}, hk::kernels::gemm<T>(), hk::kernels::Transpose::No,
                hk::kernels::Transpose::No, T{1}, (*a_)(i, k), (*b_)(k, j), k == 0 ? T{0} : T{1}, c_(i, j));
    });
  }

  Session& session_;
  hk::Tiles<T, 2> c_;
  std::optional<hk::Tiles<T, 2>> a_;
  std::optional<hk::Tiles<T, 2>> b_;
  std::optional<hk::Graph> graph_;
};

}  // namespace

int main(int argc, char** argv) { return dense_main<Session, Solver>(argc, argv); }
