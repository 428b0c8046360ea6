// SPDX-License-Identifier: Apache-2.0
/// Checked mode: whether a CPU kernel left alone what it declared read-only.
#pragma once

#include <cstdint>
#include <hocket/backend.hpp>
#include <span>
#include <vector>

#include "graph/task_node.hpp"

namespace hocket::engine {

/// Takes a checksum of each read-only operand when made; `verify` compares. Costs a pass over these operands each
/// time. An operand that another argument of the same task writes is left out.
class AccessCheck {
 public:
  AccessCheck(detail::TaskNode& task, std::span<const Argument> arguments);
  /// Throws `AccessViolation` that names the argument and the data.
  void verify() const;

 private:
  struct Watched {
    std::size_t operand;
    std::uint64_t checksum;
  };
  detail::TaskNode& task_;
  std::span<const Argument> arguments_;
  std::vector<Watched> watched_;
};

}  // namespace hocket::engine
