// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the element type of this argument's data differs from that of the kernel's view
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<int>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
  runtime.record([&](hocket::Graph& graph) { graph.submit(codelet, x); });
}
