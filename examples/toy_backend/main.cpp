// SPDX-License-Identifier: Apache-2.0
// Runs a graph on one CPU worker and one device of a backend that Hocket does not know, and checks the
// result.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "toy_backend.hpp"

namespace hk = hocket;

namespace {

void fill(std::int64_t first, hk::Out<std::int64_t> x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = first + static_cast<std::int64_t>(i);
}
void square(hk::View<std::int64_t> x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= x[i];
}
void sum(hk::View<const std::int64_t> x, hk::View<std::int64_t> total) {
  for (std::size_t i = 0; i < x.size(); ++i) total[0] += x[i];
}

void run() {
  // The toy device fills and squares; what may run on either goes where the runtime expects it to end first.
  const hk::Codelet<void(std::int64_t, hk::Out<std::int64_t>)> fill_on_toy{"fill", toy::kernel(fill)};
  const hk::Codelet square_anywhere{"square", hk::cpu(square), toy::kernel(square)};
  const hk::Codelet sum_on_cpu{"sum", hk::cpu(sum)};

  hk::RuntimeOptions options;
  options.backends = {toy::make_backend()};
  options.devices = "cpu:1,toy";
  hk::Runtime runtime(options);

  constexpr std::size_t kElements = 100'000;
  constexpr std::size_t kTile = 5'000;
  const auto x = runtime.data<std::int64_t>({kElements});
  std::int64_t total = 0;
  const auto total_data = runtime.data(std::span(&total, 1));
  const auto tiles = x.tiles(kTile);

  const hk::Graph graph = runtime.record([&](hk::Graph& g) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      g.submit(fill_on_toy, static_cast<std::int64_t>(i * kTile), tiles(i));
      g.submit(square_anywhere, tiles(i));
    }
    g.submit(sum_on_cpu, x, total_data);
  });
  runtime.run(graph).get();

  const std::int64_t found = runtime.read(total_data)[0];
  constexpr std::int64_t kLast = kElements - 1;
  constexpr std::int64_t kExpected = kLast * (kLast + 1) / 2 * (2 * kLast + 1) / 3;
  if (found != kExpected) throw hk::Error("the sum of squares is wrong");

  const hk::Report report = runtime.report();
  for (const hk::DeviceReport& device : report.devices)
    std::printf("%-60s %3llu tasks, busy %.6f s\n", device.name.c_str(),
                static_cast<unsigned long long>(device.tasks), device.busy.count);
  for (const hk::LinkReport& link : report.links)
    std::printf("%s -> %s: %llu bytes in %llu copies\n", link.from.c_str(), link.to.c_str(),
                static_cast<unsigned long long>(link.bytes.count),
                static_cast<unsigned long long>(link.copies));
  std::printf("sum of squares below %zu: %lld, as expected\n", kElements, static_cast<long long>(found));
}

}  // namespace

int main() {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "toy: %s\n", error.what());
    return 1;
  }
}
