// SPDX-License-Identifier: Apache-2.0
// The parts of the OpenCL variant that need no OpenCL: codelets that have one can be built, and their ranges
// asked for, where the backend is not compiled in.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <hocket/opencl.hpp>
#include <string_view>

namespace hocket {
namespace {

bool is_identifier_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether the text holds the word, not as a part of a longer one.
bool holds_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_identifier_character(text[at - 1])) &&
        (end == text.size() || !is_identifier_character(text[end])))
      return true;
  }
  return false;
}

NdRange range_over(const Shape& shape) {
  NdRange range;
  range.dimensions = std::min<unsigned>(shape.rank, 3);
  for (unsigned d = 0; d < range.dimensions; ++d) range.global[d] = shape.extent[shape.rank - 1 - d];
  if (shape.rank == 4) range.global[2] *= shape.extent[0];
  return range;
}

}  // namespace

std::shared_ptr<const Variant> opencl::build_variant(std::vector<Parameter> parameters) const {
  auto variant = std::make_shared<OpenclVariant>();
  variant->source = source_;
  variant->kernel = kernel_;
  variant->build_options = build_options_;
  variant->range = range_;
  apply_wants(*variant);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::optional<Format> format = variant->wanted_format(i);
    if (!format) continue;
    if (!parameters[i].is_data)
      throw InvalidArgument(fmt::format(
          "OpenCL kernel '{}' wants parameter {} as {}, but that is a scalar; only data have a format",
          kernel_, i, to_string(*format)));
    if (format->layout != Layout::RowMajor)
      throw InvalidArgument(
          fmt::format("OpenCL kernel '{}' wants parameter {} as {}; OpenCL devices hold row-major data only",
                      kernel_, i, to_string(*format)));
  }
  return variant;
}

void OpenclVariant::check(std::string_view codelet, std::span<const Parameter> parameters) const {
  Variant::check(codelet, parameters);
  if (kernel.empty())
    throw InvalidArgument(fmt::format("Codelet '{}': its OpenCL variant names no kernel", codelet));
  if (source.empty())
    throw InvalidArgument(fmt::format("Codelet '{}': its OpenCL variant has no source", codelet));
  // A name pasted together by the preprocessor, or defined by an option, cannot be looked for; the compiler
  // will.
  const bool may_be_made = source.find("##") != std::string::npos || holds_word(build_options, kernel);
  if (!may_be_made && !holds_word(source, kernel))
    throw InvalidArgument(
        fmt::format("Codelet '{}': the source of its OpenCL variant holds no kernel '{}'; give the name of a "
                    "__kernel function "
                    "in it",
                    codelet, kernel));
}

NdRange default_range(std::span<const Argument> arguments) {
  const Argument* chosen = nullptr;
  for (const Argument& argument : arguments) {
    if (!argument.parameter.is_data) continue;
    if (writes(argument.parameter.access)) return range_over(argument.buffer.shape);
    if (chosen == nullptr) chosen = &argument;
  }
  return chosen != nullptr ? range_over(chosen->buffer.shape) : NdRange{};
}

#if !HOCKET_HAS_OPENCL
std::unique_ptr<Backend> make_opencl_backend() { return nullptr; }
#endif

}  // namespace hocket
