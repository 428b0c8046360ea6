// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this argument must be a Data handle, since the kernel takes a view
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
  runtime.submit(codelet, 1.0f);
}
