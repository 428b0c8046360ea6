// SPDX-License-Identifier: Apache-2.0
// expect: hocket: this variant uses a parameter otherwise than the codelet (read, write, read-write)
#include <hocket/hocket.hpp>
#include <hocket/pim.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](hocket::View<const float>) {}),
                                     hocket::pim([](hocket::dpu::Tasklet&, hocket::dpu::Mram<float>) {})};
