// SPDX-License-Identifier: Apache-2.0
/// The OpenCL variant of a codelet. This header needs no OpenCL headers.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <hocket/codelet.hpp>
#include <memory>
#include <span>
#include <string>

namespace hocket {

/// Global and local sizes of a launch, dimension 0 first as OpenCL counts them. Unused dimensions are 1. A
/// local size of 0 leaves the choice to the driver; global sizes are rounded up to a multiple of the local
/// ones, so a kernel must check its index against the extents.
struct NdRange {
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{0, 0, 0};
  unsigned dimensions = 1;
};

/// An OpenCL C kernel. Each scalar parameter of the codelet is one kernel parameter of the same size. Each
/// view becomes `__global T*` (`const` where it is only read) followed by one `ulong` for each dimension, its
/// extents from the outermost; the data are dense and row-major.
///
/// By default there is one work item for each element of the first view that the kernel writes (of the first
/// view where it writes none, and one in all where it has no view); work dimension 0 runs along the view's
/// last (contiguous) dimension, and of rank 4 the two outermost share work dimension 2. `range` decides
/// otherwise: it is given the arguments and must be callable from any thread.
///
/// The program is compiled once for each device, at its first use; a compilation that fails fails the task
/// with the build log in the message.
class opencl : public VariantRecipe<opencl> {
 public:
  opencl(std::string source, std::string kernel,
         std::function<NdRange(std::span<const Argument>)> range = nullptr, std::string build_options = {})
      : source_(std::move(source)),
        kernel_(std::move(kernel)),
        range_(std::move(range)),
        build_options_(std::move(build_options)) {}

  template <class DeclaredList>
  std::shared_ptr<const Variant> build() const {
    return build_variant(DeclaredList::parameters());
  }

 private:
  std::shared_ptr<const Variant> build_variant(std::vector<Parameter> parameters) const;

  std::string source_;
  std::string kernel_;
  std::function<NdRange(std::span<const Argument>)> range_;
  std::string build_options_;
};

/// What the OpenCL backend is given to launch.
class OpenclVariant final : public Variant {
 public:
  OpenclVariant() : Variant("opencl") {}

  /// Throws `InvalidArgument` where the kernel name is empty or the source does not hold it (nor can make it
  /// with the preprocessor or a build option).
  void check(std::string_view codelet, std::span<const Parameter> parameters) const override;

  std::string source;
  std::string kernel;
  std::string build_options;
  std::function<NdRange(std::span<const Argument>)> range;  ///< May be empty: the default range.
};

/// The default range of a launch with these arguments.
NdRange default_range(std::span<const Argument> arguments);

}  // namespace hocket
