// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a kernel must be a function or a lambda with fixed parameter types
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"number", hocket::cpu(42)};
