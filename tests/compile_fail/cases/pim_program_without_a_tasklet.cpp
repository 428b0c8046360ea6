// SPDX-License-Identifier: Apache-2.0
// expect: hocket: the first parameter of a program for a PIM device is hocket::dpu::Tasklet&
#include <hocket/hocket.hpp>
#include <hocket/pim.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](hocket::View<float>) {}),
                                     hocket::pim([](hocket::dpu::Mram<float>) {})};
