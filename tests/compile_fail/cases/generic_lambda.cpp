// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a kernel must be a function or a lambda with fixed parameter types (no auto parameters)
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](auto x) { x[0] = 1.0f; })};
