// SPDX-License-Identifier: Apache-2.0
#include "peak.hpp"

#include <cblas.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace hocket::jobs {
namespace {

using Clock = std::chrono::steady_clock;

/// Large enough for OpenBLAS to run at full speed; the operands fit the second-level caches.
constexpr int kOrder = 320;
constexpr int kRounds = 4;
constexpr auto kRound = std::chrono::milliseconds(25);

void multiply(std::vector<double>& a) {
  double* const m = a.data();
  constexpr int kElements = kOrder * kOrder;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0, m, kOrder,
              m + kElements, kOrder, 0.0, m + 2 * kElements, kOrder);
}

void multiply(std::vector<float>& a) {
  float* const m = a.data();
  constexpr int kElements = kOrder * kOrder;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kOrder, kOrder, kOrder, 1.0F, m, kOrder,
              m + kElements, kOrder, 0.0F, m + 2 * kElements, kOrder);
}

/// The rates of one thread in each round. `together` starts all threads' rounds at once.
template <class T>
std::vector<double> measure_thread(std::barrier<>& together) {
  constexpr double kFlops = 2.0 * kOrder * kOrder * kOrder;
  std::vector<T> matrices(std::size_t{3} * kOrder * kOrder, T{1});
  multiply(matrices);
  std::vector<double> rates;
  for (int round = 0; round < kRounds; ++round) {
    together.arrive_and_wait();
    const auto begin = Clock::now();
    double flops = 0.0;
    auto now = begin;
    for (; now - begin < kRound; now = Clock::now()) {
      multiply(matrices);
      flops += kFlops;
    }
    rates.push_back(flops / std::chrono::duration<double>(now - begin).count());
  }
  return rates;
}

}  // namespace

Peak measure_peak(std::size_t threads, bool single_precision) {
  openblas_set_num_threads(1);
  threads = std::max<std::size_t>(threads, 1);
  std::barrier<> together(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::vector<double>> rates(threads);
  {
    std::vector<std::jthread> team;
    for (std::size_t i = 0; i < threads; ++i)
      team.emplace_back([&, i] {
        rates[i] = single_precision ? measure_thread<float>(together) : measure_thread<double>(together);
      });
  }
  Peak peak;
  peak.threads = threads;
  peak.single_precision = single_precision;
  peak.kernels = openblas_get_corename();
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0.0;
    for (const auto& rate : rates) sum += rate[static_cast<std::size_t>(round)];
    peak.flops_per_second = std::max(peak.flops_per_second, sum);
  }
  return peak;
}

std::size_t peak_threads(std::span<const DeviceInfo> devices) {
  std::size_t workers = 0;
  for (const DeviceInfo& device : devices)
    if (device.properties.host_memory) workers += device.properties.concurrency;
  return workers > 0 ? workers : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace hocket::jobs
