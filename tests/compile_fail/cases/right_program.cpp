// SPDX-License-Identifier: Apache-2.0
// compiles
#include <hocket/hocket.hpp>

namespace hk = hocket;

void scale(float factor, hk::View<const float> x, hk::Out<float> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = factor * x[i];
}

void kernel_of_integers(std::size_t, std::uint32_t, int, bool, hk::Out<float>) {}

void use(hk::Runtime& runtime, const hk::Data<float>& x, const hk::Data<const float>& constant,
         hk::Data<float> y) {
  const hk::Codelet codelet{"scale", hk::cpu(scale)};
  runtime.submit(codelet, 2.0f, x, y);
  runtime.submit(codelet, 2, constant, y);
  runtime.submit({.name = "named"}, codelet, 2.0, x, y);
  runtime.submit(hk::cpu([](hk::View<float> v) { v[0] = 1.0f; }), y);
  const hk::Codelet<void(hk::View<float>)> elsewhere{"elsewhere", hk::opencl{"__kernel void k() {}", "k"}};
  runtime.submit(elsewhere, y);
  const std::size_t size = 3;
  runtime.submit(hk::cpu(kernel_of_integers), 3, size, 'c', 1, y);
  const hk::TaskOptions options{.priority = 1};
  runtime.submit(options, codelet, size, x, y);
  const hk::Graph graph = runtime.record([&](hk::Graph& g) { g.submit(codelet, 2.0f, x, y); });
  auto view = runtime.write(y);
  view[0] = runtime.read(x)[0];
}
