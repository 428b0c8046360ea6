// SPDX-License-Identifier: Apache-2.0
// potrf and trsm on every kind of device.
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <optional>
#include <string>

#include "support/kernel_fixture.hpp"

namespace hocket::testing {
namespace {

using kernels::Solve;

// Symmetric, with eigenvalues between 1 and about 5; NaN above the diagonal.
template <class T>
HostMatrix<T> positive_definite(std::size_t n, unsigned seed, bool part_of_larger = false) {
  const auto m = in_double(random_matrix<T>(n, n, seed));
  auto product = reference::product(3.0 / static_cast<double>(n), m, reference::transpose(m), 0, m);
  HostMatrix<T> a({n, n}, part_of_larger);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a(i, j) = static_cast<T>(product(i, j) + (i == j ? 1.0 : 0.0));
  poison_upper_triangle(a);
  return a;
}

// Lower triangular with a diagonal around 2, so that its inverse stays moderate; NaN above the diagonal.
template <class T>
HostMatrix<T> lower_triangular(std::size_t n, unsigned seed, bool part_of_larger = false) {
  HostMatrix<T> l = random_matrix<T>(n, n, seed, part_of_larger);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) l(i, j) /= static_cast<T>(n);
    l(i, i) = static_cast<T>(2) + l(i, i) / 2;
  }
  poison_upper_triangle(l);
  return l;
}

// The column of a NotPositiveDefinite that is the error, its cause or nested in either.
std::optional<std::size_t> reported_column(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const kernels::NotPositiveDefinite& found) {
    return found.column();
  } catch (const TaskError& failed) {
    return failed.cause() == nullptr ? std::nullopt : reported_column(failed.cause());
  } catch (const std::exception& outer) {
    try {
      std::rethrow_if_nested(outer);
    } catch (...) {
      return reported_column(std::current_exception());
    }
  }
  return std::nullopt;
}

class Factorisation : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Factorisation, every_device(), device_name);

TEST_P(Factorisation, PotrfReplacesTheLowerTriangleByTheFactor) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const std::size_t n : {1, 2, 7, 33, 100, 129}) {
      SCOPED_TRACE(::testing::Message() << n << " x " << n);
      HostMatrix<T> a = positive_definite<T>(n, 1, n > 2);
      const auto expected = reference::cholesky(in_double(a));
      run(kernels::potrf<T>(), a);
      expect_close(a, expected, n, Part::LowerTriangle);
    }
  });
}

TEST_P(Factorisation, PotrfReportsTheColumnWhereAMatrixIsNotPositiveDefinite) {
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    constexpr std::size_t kOrder = 140;  // factored in parts
    for (const std::size_t column : {0, 5, 32, 100, 139}) {
      HostMatrix<T> a = positive_definite<T>(kOrder, 1);
      a(column, column) = T(-1);
      if (is("opencl")) {
        run(kernels::potrf<T>(), a);
        std::size_t first = 0;
        while (first < kOrder && !std::isnan(a(first, first))) ++first;
        EXPECT_EQ(first, column) << "the first NaN on the diagonal";
      } else {
        std::optional<std::size_t> reported;
        try {
          run(kernels::potrf<T>(), a);
        } catch (const std::exception& error) {
          reported = reported_column(std::current_exception());
          const std::string named = "column " + std::to_string(column) + " ";
          EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
        }
        EXPECT_EQ(reported, column);
      }
    }
  });
}

TEST_P(Factorisation, PotrfTakesNoNaNForAPivot) {
  HostMatrix<double> a = positive_definite<double>(7, 1);
  a(3, 3) = std::nan("");
  if (is("opencl")) {
    run(kernels::potrf<double>(), a);
    EXPECT_TRUE(std::isnan(a(3, 3)));
    EXPECT_FALSE(std::isnan(a(2, 2)));
  } else {
    expect_failure([&] { run(kernels::potrf<double>(), a); }, {"not positive definite", "column 3"});
  }
}

TEST_P(Factorisation, PotrfRefusesAMatrixThatIsNotSquare) {
  HostMatrix<double> a = random_matrix<double>(4, 5, 1);
  expect_failure([&] { run(kernels::potrf<double>(), a); }, {"potrf", "must be square", "A is 4 x 5"});
}

struct Form {
  Solve form;
  const char* name;
  bool left;
  bool transposed;
};
constexpr Form kForms[] = {{Solve::Left, "L^-1 B", true, false},
                           {Solve::LeftTransposed, "L^-T B", true, true},
                           {Solve::Right, "B L^-1", false, false},
                           {Solve::RightTransposed, "B L^-T", false, true}};

// B L^-1 = (L^-T B^T)^T, and so for the other.
reference::Matrix solution(const Form& form, const reference::Matrix& l, const reference::Matrix& b) {
  if (form.left)
    return reference::solve_triangular(form.transposed ? reference::transpose(l) : l, form.transposed, b);
  return reference::transpose(reference::solve_triangular(form.transposed ? l : reference::transpose(l),
                                                          !form.transposed, reference::transpose(b)));
}

TEST_P(Factorisation, TrsmSolvesFromEitherSideWithTheFactorAndItsTranspose) {
  struct Sizes {
    std::size_t n, m;
  };
  for_each_type([&](auto zero) {
    using T = decltype(zero);
    for (const Form& form : kForms) {
      for (const auto& [n, m] :
           {Sizes{1, 1}, Sizes{2, 1}, Sizes{7, 33}, Sizes{33, 7}, Sizes{100, 57}, Sizes{65, 130}}) {
        SCOPED_TRACE(::testing::Message() << form.name << ", n = " << n << ", m = " << m);
        HostMatrix<T> l = lower_triangular<T>(n, 1, true);
        HostMatrix<T> b = form.left ? random_matrix<T>(n, m, 2, m > 1) : random_matrix<T>(m, n, 2, m > 1);
        const auto expected = solution(form, in_double(l), in_double(b));
        run(kernels::trsm<T>(), form.form, l, b);
        expect_close(b, expected, n);
      }
    }
  });
}

TEST_P(Factorisation, TrsmRefusesShapesThatDoNotFit) {
  HostMatrix<double> l = lower_triangular<double>(4, 1);
  HostMatrix<double> b = random_matrix<double>(4, 5, 2);
  expect_failure([&] { run(kernels::trsm<double>(), Solve::Right, l, b); },
                 {"trsm", "as B has columns", "L is 4 x 4", "B is 4 x 5"});
  HostMatrix<double> c = random_matrix<double>(5, 4, 2);
  expect_failure([&] { run(kernels::trsm<double>(), Solve::LeftTransposed, l, c); },
                 {"trsm", "as many rows as B", "L is 4 x 4", "B is 5 x 4"});
}

}  // namespace
}  // namespace hocket::testing
