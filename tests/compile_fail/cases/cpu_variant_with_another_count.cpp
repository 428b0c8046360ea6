// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant takes another number of arguments than the codelet
#include <hocket/hocket.hpp>

const hocket::Codelet<void(float, hocket::View<float>)> codelet{"scale",
                                                                hocket::cpu([](hocket::View<float>) {})};
