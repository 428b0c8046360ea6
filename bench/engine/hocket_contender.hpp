// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/contender.hpp"

namespace hocket::bench {

std::unique_ptr<Contender> hocket_streaming(const Setting& setting);
std::unique_ptr<Contender> hocket_replay(const Setting& setting);

}  // namespace hocket::bench
