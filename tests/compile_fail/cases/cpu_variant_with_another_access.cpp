// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant uses a parameter otherwise than the codelet (read, write, read-write)
#include <hocket/hocket.hpp>

const hocket::Codelet<void(hocket::View<const float>)> codelet{"scale",
                                                               hocket::cpu([](hocket::View<float>) {})};
