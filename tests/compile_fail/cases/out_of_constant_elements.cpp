// SPDX-License-Identifier: Apache-2.0
// expect: hocket: Out<const T> cannot be written; use View<const T> to read
#include <hocket/hocket.hpp>

const auto codelet = hocket::Codelet{"fill", hocket::cpu([](hocket::Out<const float>) {})};
