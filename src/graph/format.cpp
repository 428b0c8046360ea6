// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <hocket/format.hpp>

namespace hocket {

std::string to_string(ElementType type) {
  switch (type.kind) {
    case ElementKind::Float:
      return fmt::format("f{}", type.bytes * 8);
    case ElementKind::BrainFloat:
      return "bf16";
    case ElementKind::Signed:
      return fmt::format("i{}", type.bytes * 8);
    case ElementKind::Unsigned:
      return fmt::format("u{}", type.bytes * 8);
    case ElementKind::Opaque:
      break;
  }
  return fmt::format("opaque({} bytes)", type.bytes);
}

std::string to_string(Layout layout) {
  switch (layout) {
    case Layout::RowMajor:
      return "row-major";
    case Layout::BankInterleaved:
      return "bank-interleaved";
    case Layout::BankReplicated:
      return "bank-replicated";
    case Layout::BankPartialSum:
      return "bank-partial-sum";
    case Layout::BankSingle:
      return "bank-single";
  }
  return "unknown layout";
}

std::string to_string(Format format) {
  return fmt::format("{} {}", to_string(format.element), to_string(format.layout));
}

std::string to_string(const Shape& shape) {
  std::string text = std::to_string(shape.extent[0]);
  for (std::size_t d = 1; d < shape.rank; ++d) text += fmt::format(" x {}", shape.extent[d]);
  return text;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (std::size_t d = 0; d < box.shape.rank; ++d)
    text += fmt::format("{}{}:{}", d == 0 ? "" : ", ", box.offset[d], box.end(d));
  return text + "]";
}

}  // namespace hocket
