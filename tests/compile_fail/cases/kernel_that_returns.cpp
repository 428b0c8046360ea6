// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a kernel returns nothing; write the result to data
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"sum", hocket::cpu([](hocket::View<const int> x) { return x[0]; })};
