// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant's scalar has another type than the codelet's
#include <hocket/hocket.hpp>

const hocket::Codelet<void(float)> codelet{"scale", hocket::cpu([](double) {})};
