// SPDX-License-Identifier: Apache-2.0
#include "opencl/kernel_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "opencl/query.hpp"

namespace hocket::opencl_backend {
namespace {

using Kind = KernelParameter::Kind;

struct BaseType {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array kBaseTypes{BaseType{"char", 1},   BaseType{"uchar", 1}, BaseType{"short", 2},
                                BaseType{"ushort", 2}, BaseType{"int", 4},   BaseType{"uint", 4},
                                BaseType{"long", 8},   BaseType{"ulong", 8}, BaseType{"half", 2},
                                BaseType{"float", 4},  BaseType{"double", 8}};

std::size_t base_bytes(std::string_view name) noexcept {
  const auto* found = std::find_if(kBaseTypes.begin(), kBaseTypes.end(),
                                   [name](const BaseType& t) { return t.name == name; });
  return found == kBaseTypes.end() ? 0 : found->bytes;
}

/// The OpenCL C type of an element; empty for opaque ones, which may be any struct.
std::string_view type_name(ElementType element) {
  const bool is_signed = element.kind == ElementKind::Signed;
  switch (element.kind) {
    case ElementKind::Float:
      return element.bytes == 8 ? "double" : element.bytes == 4 ? "float" : "";
    case ElementKind::BrainFloat:
      return "ushort";
    case ElementKind::Signed:
    case ElementKind::Unsigned:
      switch (element.bytes) {
        case 1:
          return is_signed ? "char" : "uchar";
        case 2:
          return is_signed ? "short" : "ushort";
        case 4:
          return is_signed ? "int" : "uint";
        case 8:
          return is_signed ? "long" : "ulong";
        default:
          return "";
      }
    case ElementKind::Opaque:
      return "";
  }
  return "";
}

std::string type_for_people(ElementType element) {
  const std::string_view name = type_name(element);
  return name.empty() ? fmt::format("a type of {} bytes", element.bytes) : std::string(name);
}

/// The parameter with the elements that the kernel is given, which may have been converted for it.
Parameter delivered(const Argument& argument) {
  Parameter parameter = argument.parameter;
  if (parameter.is_data) parameter.element = argument.buffer.format.element;
  return parameter;
}

/// What the kernel must have for a parameter of the codelet.
std::string wanted(const Parameter& parameter) {
  if (!parameter.is_data) return fmt::format("`{}`", type_for_people(parameter.element));
  return fmt::format("`__global {}{}*` and then {} `ulong` for the extent{}",
                     reads(parameter.access) && !writes(parameter.access) ? "const " : "",
                     type_for_people(parameter.element), parameter.rank, parameter.rank == 1 ? "" : "s");
}

std::string described(const Parameter& parameter) {
  if (!parameter.is_data) return fmt::format("a scalar {}", to_string(parameter.element));
  return fmt::format("a view of {} of rank {}", to_string(parameter.element), parameter.rank);
}

/// The whole list that the kernel should have, for the message about a wrong count.
std::string convention(std::span<const Argument> arguments) {
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    text += fmt::format("\n  codelet parameter {}, {}: {}", i, described(delivered(arguments[i])),
                        wanted(delivered(arguments[i])));
  return text;
}

bool value_fits(const KernelParameter& actual, std::size_t bytes) {
  if (actual.kind != Kind::Value) return false;
  const std::size_t known = type_bytes(actual.type);
  return known == 0 || known == bytes;
}

/// A pointer to another scalar type of another size is surely wrong; vectors, bytes and structs are the
/// kernel's own way to see the elements.
bool pointer_fits(const KernelParameter& actual, ElementType element) {
  if (actual.kind != Kind::GlobalPointer) return false;
  if (element.kind == ElementKind::Opaque) return true;
  const std::size_t pointed = base_bytes(std::string_view(actual.type).substr(0, actual.type.size() - 1));
  return pointed <= 1 || pointed == element.bytes;
}

KernelParameter read_parameter(cl_kernel kernel, cl_uint index) {
  const auto text = [&](cl_kernel_arg_info info) {
    return query_string([&](std::size_t size, void* out, std::size_t* needed) {
      return clGetKernelArgInfo(kernel, index, info, size, out, needed);
    });
  };
  KernelParameter parameter;
  parameter.name = text(CL_KERNEL_ARG_NAME);
  parameter.type = text(CL_KERNEL_ARG_TYPE_NAME);
  std::erase(parameter.type, ' ');
  const bool is_pointer = !parameter.type.empty() && parameter.type.back() == '*';
  cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr);
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
    parameter.kind = Kind::LocalPointer;
  } else if (space == CL_KERNEL_ARG_ADDRESS_PRIVATE) {
    parameter.kind = is_pointer ? Kind::Other : Kind::Value;
  } else {
    parameter.kind = is_pointer ? Kind::GlobalPointer : Kind::Other;  // Images are global, but no pointers.
  }
  return parameter;
}

}  // namespace

KernelSignature read_signature(cl_kernel kernel) {
  KernelSignature signature;
  cl_uint count = 0;
  if (clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr) != CL_SUCCESS)
    return signature;
  signature.count = count;
  for (cl_uint i = 0; i < count; ++i) {
    KernelParameter parameter = read_parameter(kernel, i);
    if (parameter.type.empty()) return {count, {}};
    signature.parameters.push_back(std::move(parameter));
  }
  return signature;
}

std::size_t type_bytes(std::string_view type) noexcept {
  std::size_t lanes = 1;
  const std::size_t letters = type.find_last_not_of("0123456789") + 1;
  if (letters < type.size()) {
    lanes = 0;
    for (const char digit : type.substr(letters)) lanes = lanes * 10 + static_cast<std::size_t>(digit - '0');
    if (lanes == 3) lanes = 4;  // A vector of three occupies four.
  }
  return base_bytes(type.substr(0, letters)) * lanes;
}

void check_arguments(std::string_view kernel, const KernelSignature& signature,
                     std::span<const Argument> arguments) {
  std::size_t expected = 0;
  for (const Argument& argument : arguments)
    expected += argument.parameter.is_data ? std::size_t{1} + argument.parameter.rank : 1;
  if (expected != signature.count)
    throw InvalidArgument(
        fmt::format("OpenCL kernel '{}' has {} parameters, but its codelet passes {}. A scalar is passed as "
                    "one parameter, a "
                    "view as a pointer and one ulong for each dimension:{}",
                    kernel, signature.count, expected, convention(arguments)));
  if (signature.parameters.empty()) return;

  std::size_t position = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Parameter parameter = delivered(arguments[i]);
    const std::size_t used = parameter.is_data ? std::size_t{1} + parameter.rank : 1;
    for (std::size_t k = 0; k < used; ++k) {
      const KernelParameter& actual = signature.parameters[position + k];
      const bool fits = !parameter.is_data ? value_fits(actual, parameter.element.bytes)
                        : k == 0           ? pointer_fits(actual, parameter.element)
                                           : value_fits(actual, sizeof(cl_ulong));
      if (fits) continue;
      constexpr std::array kKinds{"", "__global ", "__local ", ""};
      throw InvalidArgument(
          fmt::format("OpenCL kernel '{}': parameter {} of the codelet is {}, for which the kernel must take "
                      "{}; its parameter "
                      "{} is `{}{} {}`. Parameters are counted from 0.",
                      kernel, i, described(parameter), wanted(parameter), position + k,
                      kKinds[static_cast<std::size_t>(actual.kind)], actual.type, actual.name));
    }
    position += used;
  }
}

}  // namespace hocket::opencl_backend
