// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a codelet without a CPU variant must state its signature
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::opencl{"__kernel void scale() {}", "scale"}};
