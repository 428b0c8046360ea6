// SPDX-License-Identifier: Apache-2.0
// expect: hocket: too few arguments for this codelet: give one for each parameter of its kernel
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime) {
  runtime.submit(hocket::cpu([](hocket::View<float>) {}));
}
