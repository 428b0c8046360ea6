// SPDX-License-Identifier: Apache-2.0
/// What every backend must do, as tests against the seam of <hocket/backend.hpp> alone. A test file of a
/// backend registers the suite once:
///
///   const bool registered = add_backend_conformance({
///       .suite = "OpenclConformance",
///       .backend = make_opencl_backend,
///       .specification = "0",
///       .bad_specification = "quantum",
///       .step = [] { return conformance_variant(opencl(kSource, "advance")); },
///       .failing = [] { return conformance_variant(opencl("__kernel void advance(", "advance")); }});
///
/// Each check is a test of its own, `OpenclConformance.RoundTripsWholeBuffersOfEveryFormat` and so on, on the
/// first device that the specification opens. Where there is none, or where a device does not offer what a
/// check is about (copies of a device that computes in host memory, say), the test is skipped and says why.
#pragma once

#include <cstdint>
#include <functional>
#include <hocket/backend.hpp>
#include <hocket/codelet.hpp>
#include <memory>
#include <string>

namespace hocket::testing {

/// The signature of the kernels that the suite launches: `void(std::uint32_t step, View<const std::uint32_t>
/// x, View<std::uint32_t> y)`.
using ConformanceParameters =
    detail::ParameterList<std::uint32_t, View<const std::uint32_t>, View<std::uint32_t>>;

struct ConformanceSubject {
  std::string suite;                                  ///< Name of the test suite, unique in the program.
  std::function<std::unique_ptr<Backend>()> backend;  ///< May give null: not built in.
  std::string specification;                          ///< Opens at least one device where there is one.
  std::string bad_specification;                      ///< `open` must reject it.
  /// Kernel that computes `y[i] = 3 * y[i] + x[i] + step` (modulo 2^32): two of them do not commute.
  std::function<std::shared_ptr<const Variant>()> step;
  /// The same parameters; its launch fails, at once or later. May be empty where nothing can be made to fail.
  std::function<std::shared_ptr<const Variant>()> failing;
};

/// Builds a variant for the suite out of `cpu(...)`, `opencl(...)`, `pim(...)` or a recipe of another
/// backend.
template <class Recipe>
std::shared_ptr<const Variant> conformance_variant(const Recipe& recipe) {
  return recipe.template build<ConformanceParameters>();
}

/// Registers the suite; call it before the tests run, for example to initialise a constant. Returns true.
bool add_backend_conformance(ConformanceSubject subject);

}  // namespace hocket::testing
