// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/contender.hpp"

namespace hocket::bench {

std::unique_ptr<Contender> tbb_flow_graph(const Setting& setting);
std::unique_ptr<Contender> tbb_flow_graph_replay(const Setting& setting);
std::unique_ptr<Contender> tbb_task_group(const Setting& setting);

}  // namespace hocket::bench
