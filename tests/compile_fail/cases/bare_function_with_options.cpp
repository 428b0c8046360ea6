// SPDX-License-Identifier: Apache-2.0
// expect: hocket: submit takes a codelet, or a function in cpu(...): wrap the function, as in rt.submit({.name = ...}, hocket::cpu(function), arguments...)
#include <hocket/hocket.hpp>

void kernel(hocket::View<long>) {}

void use(hocket::Runtime& runtime, const hocket::Data<long>& x) {
  runtime.submit({.name = "bare"}, kernel, x);
}
