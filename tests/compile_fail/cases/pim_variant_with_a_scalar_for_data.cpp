// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant takes a scalar where the codelet takes data, or the reverse
#include <hocket/hocket.hpp>
#include <hocket/pim.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](hocket::View<float>) {}),
                                     hocket::pim([](hocket::dpu::Tasklet&, float) {})};
