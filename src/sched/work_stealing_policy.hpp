// SPDX-License-Identifier: Apache-2.0
/// The policy `ws`; see the source for how it decides.
#pragma once

#include <memory>

#include <hocket/policy.hpp>

namespace hocket::sched {

std::unique_ptr<Policy> make_work_stealing_policy();

}  // namespace hocket::sched
