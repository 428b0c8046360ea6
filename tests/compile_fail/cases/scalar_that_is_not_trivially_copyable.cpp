// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a scalar parameter of a kernel is copied as bytes and must be trivially copyable
#include <hocket/hocket.hpp>
#include <string>

const auto codelet = hocket::Codelet{"greet", hocket::cpu([](std::string, hocket::View<float>) {})};
