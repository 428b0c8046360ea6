// SPDX-License-Identifier: Apache-2.0
// expect: hocket: too many arguments for this codelet: give one for each parameter of its kernel
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<float>& x) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
  runtime.submit(codelet, x, x);
}
