// SPDX-License-Identifier: Apache-2.0
#include "engine/access_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/datum.hpp"

namespace hocket::engine {
namespace {

/// FNV-1a over the bytes of the elements of a strided buffer.
std::uint64_t checksum(const Buffer& buffer) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const std::size_t bytes = buffer.format.element.bytes;
  const auto& extent = buffer.shape.extent;
  for (std::size_t i = 0; i < extent[0]; ++i)
    for (std::size_t j = 0; j < extent[1]; ++j)
      for (std::size_t k = 0; k < extent[2]; ++k)
        for (std::size_t l = 0; l < extent[3]; ++l) {
          const std::size_t at =
              i * buffer.strides[0] + j * buffer.strides[1] + k * buffer.strides[2] + l * buffer.strides[3];
          const auto* element = static_cast<const unsigned char*>(buffer.memory) + at * bytes;
          for (std::size_t b = 0; b < bytes; ++b) hash = (hash ^ element[b]) * 0x100000001b3u;
        }
  return hash;
}

}  // namespace

AccessCheck::AccessCheck(detail::TaskNode& task, std::span<const Argument> arguments)
    : task_(task), arguments_(arguments) {
  for (std::size_t i = 0; i < task.operands().size(); ++i) {
    const detail::Operand& operand = task.operands()[i];
    if (writes(operand.access)) continue;
    const bool also_written = std::any_of(
        task.operands().begin(), task.operands().end(),
        [&](const detail::Operand& other) { return writes(other.access) && other.region == operand.region; });
    if (!also_written) watched_.push_back({i, checksum(arguments[operand.parameter].buffer)});
  }
}

void AccessCheck::verify() const {
  for (const Watched& watched : watched_) {
    const detail::Operand& operand = task_.operands()[watched.operand];
    if (checksum(arguments_[operand.parameter].buffer) == watched.checksum) continue;
    throw AccessViolation(
        fmt::format("the kernel of codelet '{}' wrote argument {} (data '{}'), which its signature declares "
                    "read-only; take it as "
                    "View<T> or Out<T>",
                    task_.core().name, operand.parameter, operand.region->name()));
  }
}

}  // namespace hocket::engine
