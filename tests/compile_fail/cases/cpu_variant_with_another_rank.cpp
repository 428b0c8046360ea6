// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant's view has another rank than the codelet's
#include <hocket/hocket.hpp>

const hocket::Codelet<void(hocket::View<float, 2>)> codelet{"scale", hocket::cpu([](hocket::View<float>) {})};
