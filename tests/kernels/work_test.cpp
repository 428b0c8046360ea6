// SPDX-License-Identifier: Apache-2.0
// What the bundled codelets say of themselves: names, variants, work.
#include <gtest/gtest.h>

#include <hocket/kernels.hpp>
#include <set>
#include <string>
#include <vector>

namespace hocket::testing {
namespace {

Shape shape(std::vector<std::size_t> extents) {
  Shape result;
  result.rank = static_cast<std::uint8_t>(extents.size());
  for (std::size_t d = 0; d < extents.size(); ++d) result.extent[d] = extents[d];
  return result;
}
const Shape kScalar;

template <class... Ps>
Work work_of(const Codelet<void(Ps...)>& codelet, const std::vector<Shape>& shapes) {
  EXPECT_EQ(shapes.size(), sizeof...(Ps));
  return codelet.core()->work(shapes);
}

TEST(KernelWork, GemmCountsAMultiplicationAndAnAdditionForEachTerm) {
  // 3 x 5 times 5 x 7; the other way of lying does not change the count.
  const auto& gemm = kernels::gemm<double>();
  const Shape c = shape({3, 7});
  EXPECT_EQ(work_of(gemm, {kScalar, kScalar, kScalar, shape({3, 5}), shape({5, 7}), kScalar, c}).flops,
            210.0);
  EXPECT_EQ(work_of(gemm, {kScalar, kScalar, kScalar, shape({5, 3}), shape({7, 5}), kScalar, c}).flops,
            210.0);
  EXPECT_EQ(work_of(gemm, {kScalar, kScalar, kScalar, shape({3, 5}), shape({5, 7}), kScalar, c}).bytes,
            8.0 * (15 + 35 + 2 * 21));
}

TEST(KernelWork, CholeskyKernelsCountOnlyTheTriangle) {
  EXPECT_EQ(work_of(kernels::potrf<double>(), {shape({6, 6})}).flops, 72.0);
  EXPECT_EQ(work_of(kernels::trsm<double>(), {kScalar, shape({6, 6}), shape({6, 4})}).flops, 144.0);
  EXPECT_EQ(work_of(kernels::trsm<double>(), {kScalar, shape({6, 6}), shape({4, 6})}).flops, 144.0);
  EXPECT_EQ(work_of(kernels::syrk<double>(), {kScalar, shape({6, 4}), kScalar, shape({6, 6})}).flops, 168.0);
}

TEST(KernelWork, VectorKernelsCountTheirElements) {
  EXPECT_EQ(work_of(kernels::axpy<float>(), {kScalar, shape({9}), shape({9})}).flops, 18.0);
  EXPECT_EQ(work_of(kernels::axpy<float>(), {kScalar, shape({9}), shape({9})}).bytes, 108.0);
  EXPECT_EQ(work_of(kernels::fill<float>(), {kScalar, shape({9})}).bytes, 36.0);
  EXPECT_EQ(work_of(kernels::reduce<float>(), {shape({9}), shape({1})}).flops, 9.0);
}

template <class T>
std::vector<const detail::CodeletCore*> all_codelets() {
  using namespace kernels;
  return {fill<T>().core().get(),     fill_matrix<T>().core().get(),     axpy<T>().core().get(),
          reduce<T>().core().get(),   histogram<T>().core().get(),       histogram_matrix<T>().core().get(),
          gemv<T>().core().get(),     gemv_transposed<T>().core().get(), gemm<T>().core().get(),
          syrk<T>().core().get(),     potrf<T>().core().get(),           trsm<T>().core().get(),
          convolve<T>().core().get(), covariance_tile<T>().core().get()};
}

TEST(KernelWork, EachCodeletHasANameOfItsOwnAndAVariantForEachKindOfDevice) {
  std::set<std::string> names;
  std::vector<const detail::CodeletCore*> codelets = all_codelets<float>();
  for (const auto* codelet : all_codelets<double>()) codelets.push_back(codelet);
  for (const auto* codelet : codelets) {
    EXPECT_TRUE(names.insert(codelet->name).second) << codelet->name << " is the name of two codelets";
    std::set<std::string> kinds;
    for (const auto& variant : codelet->variants) kinds.insert(variant->device_kind());
    EXPECT_EQ(kinds, (std::set<std::string>{"cpu", "opencl", "pim"})) << codelet->name;
    EXPECT_TRUE(codelet->work) << codelet->name << " does not state its work";
  }
}

TEST(KernelWork, ACodeletIsMadeOnce) { EXPECT_EQ(&kernels::gemm<double>(), &kernels::gemm<double>()); }

}  // namespace
}  // namespace hocket::testing
