// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a kernel takes data as View<T>, View<const T> or Out<T>, not as a pointer
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](float* x, int n) { x[n - 1] = 0.0f; })};
