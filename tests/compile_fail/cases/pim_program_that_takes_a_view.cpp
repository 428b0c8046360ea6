// SPDX-License-Identifier: Apache-2.0
// expect: hocket: a program for a PIM device takes data as dpu::Mram<T> or dpu::Mram<const T>, not as a View
#include <hocket/hocket.hpp>
#include <hocket/pim.hpp>

const auto codelet = hocket::Codelet{"scale", hocket::cpu([](hocket::View<float>) {}),
                                     hocket::pim([](hocket::dpu::Tasklet&, hocket::View<float>) {})};
