// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this argument is a Data handle, but the kernel takes a scalar here
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<float>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](float) {})};
  runtime.submit(codelet, x);
}
