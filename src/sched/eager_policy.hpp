// SPDX-License-Identifier: Apache-2.0
/// The policy `eager`; see the source for how it decides.
#pragma once

#include <hocket/policy.hpp>
#include <memory>

namespace hocket::sched {

std::unique_ptr<Policy> make_eager_policy();

}  // namespace hocket::sched
