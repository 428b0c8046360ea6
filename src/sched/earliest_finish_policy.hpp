// SPDX-License-Identifier: Apache-2.0
/// The policy `eft`; see the source for how it decides.
#pragma once

#include <hocket/policy.hpp>
#include <memory>

namespace hocket::sched {

std::unique_ptr<Policy> make_earliest_finish_policy();

}  // namespace hocket::sched
