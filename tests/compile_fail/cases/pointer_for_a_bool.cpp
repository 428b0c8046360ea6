// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this scalar argument is a fraction or a pointer, but the kernel takes an integer or a bool here; convert it explicitly
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<int>& x) {
  runtime.submit(hocket::cpu([](bool, hocket::Out<int>) {}), "yes", x);
}
