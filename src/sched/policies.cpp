// SPDX-License-Identifier: Apache-2.0
/// The policies by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/policy.hpp>
#include <hocket/problem.hpp>

#include "sched/eager_policy.hpp"
#include "sched/earliest_finish_policy.hpp"
#include "sched/work_stealing_policy.hpp"

namespace hocket {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)();
};
constexpr Entry kPolicies[] = {
    {"eager", [] { return sched::make_eager_policy(); }},
    {"eft", [] { return sched::make_earliest_finish_policy(); }},
    {"ws", [] { return sched::make_work_stealing_policy(); }},
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name) {
  for (const Entry& entry : kPolicies)
    if (name == entry.name) return entry.make();
  const std::vector<std::string_view> planners = planner_names();
  const bool plans = std::find(planners.begin(), planners.end(), name) != planners.end();
  throw InvalidArgument(
      fmt::format("unknown policy '{}'; known: {} (RuntimeOptions::policy, HOCKET_POLICY){}", name,
                  fmt::join(policy_names(), ", "),
                  plans ? ". This is a planner of recorded graphs: see Runtime::plan" : ""));
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kPolicies) names.emplace_back(entry.name);
  return names;
}

}  // namespace hocket
