// SPDX-License-Identifier: Apache-2.0
/// Checks that a kernel takes what the codelet passes: OpenCL itself would accept a buffer of doubles for a
/// `__global float*`, and a misplaced extent for a scalar.
///
/// The convention (see <hocket/opencl.hpp>): a scalar is one parameter of the same size; a view is `__global
/// T*` and then one `ulong` for each dimension.
#pragma once

#include <cstddef>
#include <hocket/backend.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opencl/handle.hpp"

namespace hocket::opencl_backend {

/// One parameter of a kernel, as its program declares it.
struct KernelParameter {
  enum class Kind { Value, GlobalPointer, LocalPointer, Other };
  Kind kind = Kind::Value;
  std::string type;  ///< "float", "ulong", "float*"; of typedefs the name.
  std::string name;
};

struct KernelSignature {
  std::size_t count = 0;
  std::vector<KernelParameter> parameters;  ///< Empty where the driver does not tell.
};

/// Asks the driver. The program must have been built with `-cl-kernel-arg-info` for more than the count.
KernelSignature read_signature(cl_kernel kernel);

/// Bytes of an OpenCL C type such as "uint" or "float4"; 0 for a pointer or a name that is not built in.
std::size_t type_bytes(std::string_view type) noexcept;

/// Throws `InvalidArgument` where the arguments do not fit; the message names the parameter of the codelet
/// (counted from 0) and what the kernel should have there.
void check_arguments(std::string_view kernel, const KernelSignature& signature,
                     std::span<const Argument> arguments);

}  // namespace hocket::opencl_backend
