// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the rank of this argument's data differs from that of the kernel's view
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<float, 2>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
  runtime.submit(codelet, x);
}
