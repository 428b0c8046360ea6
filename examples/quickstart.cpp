// SPDX-License-Identifier: Apache-2.0
/// The program of the README: y += 2 x, on whatever device the runtime chooses.
#include <cstdio>
#include <hocket/hocket.hpp>

namespace hk = hocket;

const char* const source = R"(
__kernel void fill(float value, __global float* y, ulong n) { if (get_global_id(0) < n) y[get_global_id(0)] = value; }
__kernel void saxpy(float a, __global const float* x, ulong nx, __global float* y, ulong n) {
  size_t i = get_global_id(0);
  if (i < n) y[i] += a * x[i];
})";

// The kernel's own signature says how it uses its data: View<const T> is read, View<T> read and written,
// Out<T> written. Every variant has the same one.
const auto fill = hk::Codelet{"fill", hk::opencl{source, "fill"}, hk::cpu([](float value, hk::Out<float> y) {
                                for (float& element : y) element = value;
                              })};
const auto saxpy = hk::Codelet{"saxpy", hk::opencl{source, "saxpy"},
                               hk::cpu([](float a, hk::View<const float> x, hk::View<float> y) {
                                 for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
                               })};

int main() try {
  hk::Runtime rt;  // finds every device; HOCKET_DEVICES narrows it
  auto x = rt.data<float>({1000000});
  auto y = rt.data<float>({1000000});
  rt.submit(fill, 1.0F, x);
  rt.submit(fill, 3.0F, y);
  hk::Task step = rt.submit({.name = "step", .priority = 2}, saxpy, 2.0F, x, y);
  auto result = rt.read(y);  // waits, fetches; the data are locked until the end of the scope
  std::printf("y[0] = %g, by %s\n", static_cast<double>(result[0]),
              rt.devices()[hk::index(*rt.why(step).device)].label.c_str());
} catch (const hk::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
