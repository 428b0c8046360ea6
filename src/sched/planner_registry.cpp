// SPDX-License-Identifier: Apache-2.0
//
// The planners by name. A new planner is a file of its own and one row here.
#include <fmt/format.h>

#include <array>
#include <hocket/error.hpp>
#include <hocket/problem.hpp>
#include <string>

#include "sched/heft.hpp"

namespace hocket {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Planner> (*make)();
};

template <class T>
std::unique_ptr<Planner> make() {
  return std::make_unique<T>();
}

// In alphabetical order.
constexpr std::array<Entry, 1> kPlanners{{
    {"heft", &make<sched::HeftPlanner>},
}};

}  // namespace

std::unique_ptr<Planner> make_planner(std::string_view name) {
  std::string known;
  for (const Entry& entry : kPlanners) {
    if (entry.name == name) return entry.make();
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  throw InvalidArgument(fmt::format("there is no planner \"{}\": choose one of {}", name, known));
}

std::vector<std::string_view> planner_names() {
  std::vector<std::string_view> names;
  names.reserve(kPlanners.size());
  for (const Entry& entry : kPlanners) names.push_back(entry.name);
  return names;
}

}  // namespace hocket
