// SPDX-License-Identifier: Apache-2.0
// The CPU backend and the toy backend of examples/ do what every backend must. Those of OpenCL and PIM are
// registered in opencl_backend_test.cpp and pim_conformance_test.cpp.
#include <cstdint>
#include <hocket/codelet.hpp>
#include <stdexcept>

#include "support/backend_conformance.hpp"
#include "toy_backend/toy_backend.hpp"

namespace hocket::testing {
namespace {

void step(std::uint32_t step, View<const std::uint32_t> x, View<std::uint32_t> y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = 3 * y[i] + x[i] + step;
}
void fail(std::uint32_t, View<const std::uint32_t>, View<std::uint32_t>) {
  throw std::runtime_error("no such luck");
}

ConformanceSubject cpu_subject(const char* suite, const char* specification) {
  ConformanceSubject subject;
  subject.suite = suite;
  subject.backend = make_cpu_backend;
  subject.specification = specification;
  subject.bad_specification = "several";
  subject.step = [] { return conformance_variant(cpu(step)); };
  subject.failing = [] { return conformance_variant(cpu(fail)); };
  return subject;
}

ConformanceSubject toy_subject(const char* suite, const char* specification) {
  ConformanceSubject subject;
  subject.suite = suite;
  subject.backend = toy::make_backend;
  subject.specification = specification;
  subject.bad_specification = "10";
  subject.step = [] { return conformance_variant(toy::kernel(step)); };
  subject.failing = [] { return conformance_variant(toy::kernel(fail)); };
  return subject;
}

const bool registered_cpu = add_backend_conformance(cpu_subject("CpuConformance", ""));
const bool registered_cpu_workers =
    add_backend_conformance(cpu_subject("CpuConformanceWithThreeWorkers", "3"));
const bool registered_toy = add_backend_conformance(toy_subject("ToyConformance", ""));
const bool registered_toys = add_backend_conformance(toy_subject("ToyConformanceWithTwoDevices", "2"));

}  // namespace
}  // namespace hocket::testing
