// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this scalar argument cannot be converted to the type that the kernel takes
#include <hocket/hocket.hpp>
#include <string>

void use(hocket::Runtime& runtime) {
  const hocket::Codelet codelet{"scale", hocket::cpu([](float) {})};
  runtime.submit(codelet, std::string("one"));
}
