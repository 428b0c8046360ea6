// SPDX-License-Identifier: Apache-2.0
/// What is checked of a codelet when it is built, whatever its kernels.
#include <fmt/format.h>

#include <atomic>
#include <hocket/codelet.hpp>
#include <hocket/submit.hpp>

namespace hocket {

void Variant::check(std::string_view, std::span<const Parameter>) const {}

void Variant::want_format(std::size_t index, Format format) {
  if (wanted_.size() <= index) wanted_.resize(index + 1);
  wanted_[index] = format;
}

namespace {

class CompletedEvent final : public Event {
 public:
  // NOLINTNEXTLINE(bugprone-throw-keyword-missing): kept, not thrown
  explicit CompletedEvent(std::exception_ptr failure) : failure_(std::move(failure)) {}
  bool done() override { return true; }
  std::exception_ptr failure() override { return failure_; }

 private:
  std::exception_ptr failure_;
};

}  // namespace

EventHandle completed_event(std::exception_ptr failure) {
  return std::make_shared<CompletedEvent>(std::move(failure));
}

}  // namespace hocket

namespace hocket::detail {

std::shared_ptr<const CodeletCore> make_codelet(CodeletCore core) {
  if (core.name.empty())
    throw InvalidArgument("a codelet needs a name; it stands in messages, reports and calibration files");
  if (core.variants.empty())
    throw InvalidArgument(
        fmt::format("codelet '{}' has no variant; add cpu(...), opencl{{...}} or pim(...)", core.name));
  for (std::size_t i = 0; i < core.variants.size(); ++i) {
    const Variant* variant = core.variants[i].get();
    if (variant == nullptr)
      throw InvalidArgument(fmt::format("codelet '{}': variant {} is empty", core.name, i));
    for (std::size_t j = 0; j < i; ++j)
      if (core.variants[j]->device_kind() == variant->device_kind())
        throw InvalidArgument(fmt::format("codelet '{}' has two variants for {} devices; keep one", core.name,
                                          variant->device_kind()));
    for (std::size_t p = 0; p < core.parameters.size(); ++p)
      if (variant->wanted_format(p) && !core.parameters[p].is_data)
        throw InvalidArgument(fmt::format(
            "codelet '{}': the {} variant wants a format for argument {}, which is a scalar; count from 0",
            core.name, variant->device_kind(), p));
    if (variant->wanted_formats() > core.parameters.size())
      throw InvalidArgument(fmt::format(
          "codelet '{}': the {} variant wants a format for an argument that there is not; it has {}",
          core.name, variant->device_kind(), core.parameters.size()));
    variant->check(core.name, core.parameters);
  }
  core.key = 0xcbf29ce484222325u;  // FNV-1a of the name: the same codelet in every run of a program
  for (const char c : core.name) core.key = (core.key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  static std::atomic<std::uint64_t> next_serial{1};
  core.serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  return std::make_shared<const CodeletCore>(std::move(core));
}

void CpuVariant::check(std::string_view codelet, std::span<const Parameter> parameters) const {
  for (std::size_t i = 0; i < parameters.size() && i < own_parameters.size(); ++i) {
    if (!parameters[i].is_data) continue;
    const ElementType own = own_parameters[i].element;
    const auto wanted = wanted_format(i);
    if (wanted && wanted->layout != Layout::RowMajor)
      throw InvalidArgument(
          fmt::format("codelet '{}': the cpu variant wants argument {} as {}, but CPU kernels take "
                      "row-major views only",
                      codelet, i, to_string(*wanted)));
    const ElementType expected = wanted ? wanted->element : parameters[i].element;
    if (own == expected) continue;
    throw InvalidArgument(fmt::format(
        "codelet '{}': the cpu kernel takes argument {} with elements of type {}, but {} {}; {}", codelet, i,
        to_string(own), wanted ? "its wants() says" : "the codelet's are", to_string(expected),
        wanted ? "let the two agree" : fmt::format("if it is to be converted, say .wants<...>({})", i)));
  }
}

std::shared_ptr<const CodeletCore> make_one_off(std::shared_ptr<const Variant> variant,
                                                std::vector<Parameter> parameters, SourceLocation location) {
  CodeletCore core;
  std::string_view file = location.file;
  file = file.substr(file.rfind('/') + 1);
  core.name = fmt::format("{}:{}", file, location.line);
  core.parameters = std::move(parameters);
  core.variants.push_back(std::move(variant));
  core.one_off = true;
  return make_codelet(std::move(core));
}

}  // namespace hocket::detail
