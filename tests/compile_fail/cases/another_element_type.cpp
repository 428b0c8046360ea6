// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the element type of this argument's data differs from that of the kernel's view
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<double>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](float, hocket::View<float>) {})};
  runtime.submit(codelet, 1.0f, x);
}
