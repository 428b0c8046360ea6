// SPDX-License-Identifier: Apache-2.0
// expect: hocket: submit takes a codelet, or a function in cpu(...): wrap the function, as in rt.submit(hocket::cpu(function), arguments...)
#include <hocket/hocket.hpp>

void use(hocket::Runtime& runtime, const hocket::Data<long>& x) {
  runtime.record([&](hocket::Graph& graph) { graph.submit([](hocket::View<long>) {}, x); });
}
