// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the kernel writes this argument, but its data is read-only (Data<const T>)
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<const float>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
  runtime.submit(codelet, x);
}
