// SPDX-License-Identifier: Apache-2.0
// A user's program, built against an installed Hocket only: it doubles a vector in a one-off task.
#include <cstddef>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <numeric>
#include <span>
#include <vector>

namespace hk = hocket;

int main() {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0f);

  hk::Runtime runtime;
  auto x = runtime.data(std::span{values});
  runtime.submit(hk::cpu([](hk::View<float> view) {
                   for (std::size_t i = 0; i < view.size(); ++i) view[i] *= 2.0f;
                 }),
                 x);
  const auto result = runtime.read(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (result[i] != 2.0f * static_cast<float>(i)) {
      std::printf("element %zu is %g, expected %g\n", i, static_cast<double>(result[i]),
                  2.0 * static_cast<double>(i));
      return 1;
    }
  }
  std::puts("doubled");
  return 0;
}
