// SPDX-License-Identifier: Apache-2.0
// expect: hocket: elements of data are moved between devices as bytes and must be trivially copyable
#include <hocket/hocket.hpp>
#include <string>

const auto codelet = hocket::Codelet{"greet", hocket::cpu([](hocket::View<std::string>) {})};
