// SPDX-License-Identifier: Apache-2.0
// The PIM device does what every backend must.
#include <cstdint>
#include <hocket/pim.hpp>
#include <stdexcept>

#include "support/backend_conformance.hpp"

namespace hocket::testing {
namespace {

void step_program(dpu::Tasklet& tasklet, std::uint32_t step, dpu::Mram<const std::uint32_t> x,
                  dpu::Mram<std::uint32_t> y) {
  auto xs = tasklet.buffer<std::uint32_t>(64);
  auto ys = tasklet.buffer<std::uint32_t>(64);
  dpu::for_each_block(tasklet, y.size(), 64, [&](std::size_t first, std::size_t count) {
    const std::uint32_t* in = xs.load(x, first, count);
    std::uint32_t* out = ys.load(y, first, count);
    for (std::size_t i = 0; i < count; ++i) out[i] = 3 * out[i] + in[i] + step;
    tasklet.charge<std::uint32_t>(dpu::Operation::Multiply, count);
    tasklet.charge<std::uint32_t>(dpu::Operation::Add, 2 * count);
    ys.store(y, first, count);
  });
}

void failing_program(dpu::Tasklet& tasklet, std::uint32_t, dpu::Mram<const std::uint32_t>,
                     dpu::Mram<std::uint32_t>) {
  if (tasklet.id() == 2) throw std::runtime_error("no such luck");
  tasklet.barrier();
}

ConformanceSubject subject(const char* suite, const char* dpus) {
  ConformanceSubject subject;
  subject.suite = suite;
  subject.backend = make_pim_backend;
  subject.specification = dpus;
  subject.bad_specification = "many";
  subject.step = [] { return conformance_variant(pim(step_program)); };
  subject.failing = [] { return conformance_variant(pim(failing_program)); };
  return subject;
}

const bool registered_default = add_backend_conformance(subject("PimConformance", ""));
const bool registered_one = add_backend_conformance(subject("PimConformanceWithOneDpu", "1"));
const bool registered_odd = add_backend_conformance(subject("PimConformanceWithSevenDpus", "7"));

}  // namespace
}  // namespace hocket::testing
