// SPDX-License-Identifier: Apache-2.0
/// Dense problems on Hocket. Modes: `streaming` submits tasks of the bundled codelets and waits, `replay` runs a graph
/// of them that was recorded before the clock started (the first run also closes it), `same_kernels` submits tasks
/// that call just what the peers call, which leaves the runtimes as the only difference.
#include <hocket/hocket.hpp>
#include <hocket/kernels.hpp>
#include <optional>

#include "cholesky/cholesky.hpp"
#include "dense/blas.hpp"
#include "dense/order.hpp"
#include "dense/program.hpp"

namespace {

using namespace hocket::bench::dense;
namespace hk = hocket;

class Session {
 public:
  explicit Session(const Options& options)
      : runtime(runtime_options(options)),
        replay(options.mode == "replay"),
        same_kernels(options.mode == "same_kernels") {
    if (!options.mode.empty() && options.mode != "streaming" && !replay && !same_kernels)
      throw std::invalid_argument("mode must be streaming, replay or same_kernels");
    openblas_set_num_threads(1);
  }

  hk::Runtime runtime;
  bool replay;
  bool same_kernels;

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

/// The peers' kernels as codelets.
template <class T>
struct PeerCodelets {
  static int order(const hk::View<T, 2>& tile) { return static_cast<int>(tile.extent(0)); }
  template <class U>
  static int stride(const hk::View<U, 2>& tile) {
    return static_cast<int>(tile.stride(0));
  }

  hk::Codelet<void(hk::View<T, 2>)> potrf{
      "peer_potrf", hk::cpu([](hk::View<T, 2> a) {
        if (hocket::bench::dense::potrf(order(a), a.data(), stride(a)) != 0)
          throw std::runtime_error("the matrix is not positive definite");
      })};
  hk::Codelet<void(hk::View<const T, 2>, hk::View<T, 2>)> trsm{
      "peer_trsm", hk::cpu([](hk::View<const T, 2> l, hk::View<T, 2> b) {
        hocket::bench::dense::trsm(order(b), l.data(), stride(l), b.data(), stride(b));
      })};
  hk::Codelet<void(hk::View<const T, 2>, hk::View<T, 2>)> syrk{
      "peer_syrk", hk::cpu([](hk::View<const T, 2> a, hk::View<T, 2> c) {
        hocket::bench::dense::syrk(order(c), a.data(), stride(a), c.data(), stride(c));
      })};
  hk::Codelet<void(bool, T, T, hk::View<const T, 2>, hk::View<const T, 2>, hk::View<T, 2>)> gemm{
      "peer_gemm", hk::cpu([](bool transposed, T alpha, T beta, hk::View<const T, 2> a,
                              hk::View<const T, 2> b, hk::View<T, 2> c) {
        hocket::bench::dense::gemm(order(c), transposed ? CblasTrans : CblasNoTrans, alpha, a.data(),
                                   stride(a), b.data(), stride(b), beta, c.data(), stride(c));
      })};
};

template <class T>
const PeerCodelets<T>& peer_codelets() {
  static const PeerCodelets<T> all;
  return all;
}

/// Submits a factorisation with the peers' kernels.
template <class T>
class PeerCholesky {
 public:
  PeerCholesky(hk::Submitter& to, const hk::Tiles<T, 2>& c) : to_(to), c_(c) {}
  void potrf(std::size_t k, int urgency) {
    to_.submit({.priority = urgency}, peer_codelets<T>().potrf, c_(k, k));
  }
  void trsm(std::size_t i, std::size_t k, int urgency) {
    to_.submit({.priority = urgency}, peer_codelets<T>().trsm, c_(k, k), c_(i, k));
  }
  void syrk(std::size_t i, std::size_t k, int urgency) {
    to_.submit({.priority = urgency}, peer_codelets<T>().syrk, c_(i, k), c_(i, i));
  }
  void gemm(std::size_t i, std::size_t j, std::size_t k, int urgency) {
    to_.submit({.priority = urgency}, peer_codelets<T>().gemm, true, T{-1}, T{1}, c_(i, k), c_(j, k),
               c_(i, j));
  }

 private:
  hk::Submitter& to_;
  const hk::Tiles<T, 2>& c_;
};

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
    if (!a_ && session_.same_kernels) {
      PeerCholesky<T> tasks(to, c_);
      for_each_cholesky_task(c_.count(0), tasks);
      return;
    }
    if (!a_) {
      hk::jobs::cholesky::submit_cholesky<T>(to, c_);
      return;
    }
    for_each_product_task(c_.count(0), [&](std::size_t i, std::size_t j, std::size_t k, int urgency) {
      const T beta = k == 0 ? T{0} : T{1};
      if (session_.same_kernels)
        to.submit({.priority = urgency}, peer_codelets<T>().gemm, false, T{1}, beta, (*a_)(i, k), (*b_)(k, j),
                  c_(i, j));
      else
        to.submit({.priority = urgency}, hk::kernels::gemm<T>(), hk::kernels::Transpose::No,
                  hk::kernels::Transpose::No, T{1}, (*a_)(i, k), (*b_)(k, j), beta, c_(i, j));
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
