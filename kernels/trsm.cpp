// SPDX-License-Identifier: Apache-2.0
#include <hocket/kernels.hpp>

#include "blas.hpp"
#include "dpu_support.hpp"
#include "opencl_support.hpp"
#include "shapes.hpp"
#include "triangular.hpp"

namespace hocket::kernels {
namespace {

bool is_left(Solve form) noexcept { return form == Solve::Left || form == Solve::LeftTransposed; }
bool is_transposed(Solve form) noexcept {
  return form == Solve::LeftTransposed || form == Solve::RightTransposed;
}

void check_shapes(Solve form, const Shape& l, const Shape& b) {
  require(l.extent[0] == l.extent[1] && b.extent[is_left(form) ? 0 : 1] == l.extent[0], "trsm",
          is_left(form) ? "L must be square, with as many rows as B"
                        : "L must be square, with as many rows as B has columns",
          NamedShape{"L", l}, NamedShape{"B", b});
}

template <class T>
void trsm_cpu(Solve form, View<const T, 2> l, View<T, 2> b) {
  check_shapes(form, shape_of(l), shape_of(b));
  if (form == Solve::RightTransposed) {
    solve_right_transposed(blas::rows(b), blas::columns(b), l.data(), blas::leading(l), b.data(),
                           blas::leading(b));
    return;
  }
  blas::trsm_lower(is_left(form) ? CblasLeft : CblasRight, is_transposed(form) ? CblasTrans : CblasNoTrans,
                   blas::rows(b), blas::columns(b), l.data(), blas::leading(l), b.data(), blas::leading(b));
}

// The OpenCL source tells the forms apart by number: the upper bit is the side, the lower one the
// transposition.
static_assert(static_cast<int>(Solve::Left) == 0 && static_cast<int>(Solve::LeftTransposed) == 1 &&
              static_cast<int>(Solve::Right) == 2 && static_cast<int>(Solve::RightTransposed) == 3);

// One item for each column of B (left) or row of B (right): they do not depend on each other. Each forward or
// backward substitution runs over the entries of its column or row, `apart` elements from each other.
constexpr const char* kSource = R"(
__kernel void trsm(const uint form, __global const real* l, const ulong n, const ulong l_columns, __global real* b,
                   const ulong rows, const ulong columns) {
  const int left = form < 2;
  const int transposed = form & 1;
  const size_t me = get_global_id(0);
  if (me >= (left ? columns : rows)) return;
  __global real* x = left ? b + me : b + me * columns;
  const ulong apart = left ? columns : 1;
  // Left with L and right with L^T begin at the first unknown, the others at the last.
  const int forward = left != transposed;
  for (ulong step = 0; step < n; ++step) {
    const ulong i = forward ? step : n - 1 - step;
    real sum = x[i * apart];
    if (forward) {
      for (ulong k = 0; k < i; ++k) sum -= l[i * n + k] * x[k * apart];
    } else {
      for (ulong k = i + 1; k < n; ++k) sum -= l[k * n + i] * x[k * apart];
    }
    x[i * apart] = sum / l[i * n + i];
  }
}
)";

NdRange trsm_range(std::span<const Argument> arguments) {
  const auto form = scalar<Solve>(arguments[0]);
  const Shape& b = shape_of(arguments[2]);
  check_shapes(form, shape_of(arguments[1]), b);
  return line(b.extent[is_left(form) ? 1 : 0]);
}

/// Substitution on the one DPU that has B. Tasklets deal out what does not depend on each other: blocks of
/// columns of B (left), of which whole rows pass through WRAM, or rows of B (right).
template <class T>
class Substitution {
 public:
  Substitution(dpu::Tasklet& tasklet, bool transposed, dpu::Mram<const T, 2> l, dpu::Mram<T, 2> b)
      : tasklet_(tasklet),
        transposed_(transposed),
        n_(l.extent(1)),
        l_(l),
        b_(b),
        of_l_(tasklet.buffer<T>(kBlock<T>)),
        known_(tasklet.buffer<T>(kBlock<T>)),
        solved_(tasklet.buffer<T>(kBlock<T>)) {}

  /// B := L^-1 B or L^-T B in columns [first, first + width), at most a block.
  void solve_columns(std::size_t first, std::size_t width) {
    for (std::size_t step = 0; step < n_; ++step) {
      const std::size_t i = transposed_ ? n_ - 1 - step : step;
      const std::size_t place = i * b_.extent(1) + first;
      T* x = solved_.load(b_, place, width);
      for (std::size_t before = 0; before < step; ++before) {
        const std::size_t k = transposed_ ? n_ - 1 - before : before;
        const T factor = load_element(of_l_, l_, transposed_ ? k * n_ + i : i * n_ + k);
        const T* known = known_.load(b_, k * b_.extent(1) + first, width);
        for (std::size_t j = 0; j < width; ++j) x[j] -= factor * known[j];
      }
      const T diagonal = load_element(of_l_, l_, i * n_ + i);
      for (std::size_t j = 0; j < width; ++j) x[j] /= diagonal;
      charge_multiply_add<T>(tasklet_, step * width);
      tasklet_.charge<T>(dpu::Operation::Divide, width);
      solved_.store(b_, place, width);
    }
  }

  /// B := B L^-1 or B L^-T in one row.
  void solve_row(std::size_t row) {
    for (std::size_t step = 0; step < n_; ++step) {
      if (transposed_) {
        solve_entry(row, step);
      } else {
        eliminate(row, n_ - 1 - step);
      }
    }
  }

 private:
  /// Entry j of the row, those before it being solved: row j of L holds all that it takes.
  void solve_entry(std::size_t row, std::size_t j) {
    T sum = 0;
    for (std::size_t k = 0; k < j; k += kBlock<T>) {
      const std::size_t count = std::min(kBlock<T>, j - k);
      const T* of_l = of_l_.load(l_, j * n_ + k, count);
      const T* known = known_.load(b_, row * n_ + k, count);
      for (std::size_t i = 0; i < count; ++i) sum += of_l[i] * known[i];
    }
    charge_multiply_add<T>(tasklet_, j);
    divide(row, j, sum);
  }

  /// Entry j, to which those after it have been applied, and its effect on those before: row j of L again.
  void eliminate(std::size_t row, std::size_t j) {
    const T x = divide(row, j, T{0});
    for (std::size_t k = 0; k < j; k += kBlock<T>) {
      const std::size_t count = std::min(kBlock<T>, j - k);
      const T* of_l = of_l_.load(l_, j * n_ + k, count);
      T* rest = solved_.load(b_, row * n_ + k, count);
      for (std::size_t i = 0; i < count; ++i) rest[i] -= x * of_l[i];
      solved_.store(b_, row * n_ + k, count);
    }
    charge_multiply_add<T>(tasklet_, j);
  }

  T divide(std::size_t row, std::size_t j, T less) {
    const T diagonal = load_element(of_l_, l_, j * n_ + j);
    T* entry = solved_.load(b_, row * n_ + j, 1);
    *entry = (*entry - less) / diagonal;
    tasklet_.charge<T>(dpu::Operation::Divide, 1);
    const T result = *entry;
    solved_.store(b_, row * n_ + j, 1);
    return result;
  }

  dpu::Tasklet& tasklet_;
  bool transposed_;
  std::size_t n_;
  dpu::Mram<const T, 2> l_;
  dpu::Mram<T, 2> b_;
  dpu::WramBuffer<T> of_l_;
  dpu::WramBuffer<T> known_;
  dpu::WramBuffer<T> solved_;
};

template <class T>
void trsm_dpu(dpu::Tasklet& tasklet, Solve form, dpu::Mram<const T, 2> l, dpu::Mram<T, 2> b) {
  check_shapes(form, shape_of(l), shape_of(b));
  if (b.rows() == 0) return;  // not DPU 0
  Substitution<T> substitution(tasklet, is_transposed(form), l, b);
  if (is_left(form)) {
    const std::size_t columns = b.extent(1);
    const std::size_t share = std::min(kBlock<T>, divide_up(columns, tasklet.tasklets()));
    dpu::for_each_block(tasklet, columns, share, [&](std::size_t first, std::size_t width) {
      substitution.solve_columns(first, width);
    });
  } else {
    dpu::for_each_row(tasklet, b.rows(), [&](std::size_t row) { substitution.solve_row(row); });
  }
}

}  // namespace

template <Real T>
const Codelet<void(Solve, View<const T, 2>, View<T, 2>)>& trsm() {
  static const auto codelet =
      Codelet{
          typed_name<T>("trsm"), cpu(trsm_cpu<T>), opencl{opencl_source<T>(kSource), "trsm", trsm_range},
          pim(trsm_dpu<T>).template wants<T>(1, Layout::BankSingle).template wants<T>(2, Layout::BankSingle)}
          .with_work([](std::span<const Shape> shapes) {
            const auto n = static_cast<double>(shapes[1].extent[0]);
            const double b = elements_of(shapes[2]);
            return Work{n * b, bytes_of<T>(n * (n + 1.0) / 2.0 + 2.0 * b)};
          });
  return codelet;
}

template const Codelet<void(Solve, View<const float, 2>, View<float, 2>)>& trsm<float>();
template const Codelet<void(Solve, View<const double, 2>, View<double, 2>)>& trsm<double>();

}  // namespace hocket::kernels
