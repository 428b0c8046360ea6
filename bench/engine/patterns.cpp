// SPDX-License-Identifier: Apache-2.0
#include "engine/patterns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <random>
#include <stdexcept>

namespace hocket::bench {
namespace {

using Index = std::uint32_t;

// The engine is the same everywhere; the standard distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  Index below(std::size_t bound) { return static_cast<Index>(engine_() % bound); }
  // `count` different numbers below `bound`.
  std::vector<Index> different(std::size_t count, std::size_t bound) {
    std::vector<Index> chosen;
    while (chosen.size() < count) {
      const Index candidate = below(bound);
      if (std::find(chosen.begin(), chosen.end(), candidate) == chosen.end()) chosen.push_back(candidate);
    }
    return chosen;
  }

 private:
  std::mt19937_64 engine_;
};

std::size_t scaled(std::size_t count, const Sizes& sizes) {
  return std::max<std::size_t>(1, count * sizes.multiplier / sizes.divisor);
}
// For patterns whose tasks grow with a power of the side.
std::size_t scaled_side(std::size_t side, const Sizes& sizes, double power) {
  const double factor = static_cast<double>(sizes.multiplier) / static_cast<double>(sizes.divisor);
  return std::max<std::size_t>(
      2, static_cast<std::size_t>(std::lround(static_cast<double>(side) * std::pow(factor, 1 / power))));
}

void add(Workload& work, std::initializer_list<Index> read, std::initializer_list<Index> written) {
  work.add(std::span(read.begin(), read.size()), std::span(written.begin(), written.size()));
}

void independent(Workload& work, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) add(work, {}, {static_cast<Index>(i)});
}

void chain(Workload& work, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) add(work, {}, {0});
}

// From the root to the leaves: each task reads its parent's datum and writes its own.
void tree(Workload& work, std::size_t levels) {
  add(work, {}, {0});
  for (Index i = 1; i < (Index{1} << levels) - 1; ++i) add(work, {(i - 1) / 2}, {i});
}

// One task writes a datum, 99 read it, the next one writes it: it joins the former ones and forks the next.
void fan(Workload& work, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 100 == 0)
      add(work, {}, {0});
    else
      add(work, {0}, {});
  }
}

// Task (i, j) uses the datum of row i and that of column j, and so follows (i, j - 1) and (i - 1, j).
void wavefront(Workload& work, std::size_t side) {
  const auto n = static_cast<Index>(side);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) add(work, {}, {i, n + j});
}

// Layers of 1,000 tasks; each reads 4 data of the layer before, chosen at random, and writes its own.
void layered(Workload& work, std::size_t count) {
  const std::size_t width = std::min<std::size_t>(1000, std::max<std::size_t>(8, count / 10));
  Random random(1);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Index> read;
    const std::size_t layer = i / width;
    if (layer > 0) {
      read = random.different(4, width);
      for (Index& datum : read) datum += static_cast<Index>((layer - 1) * width);
    }
    const auto own = static_cast<Index>(i);
    work.add(read, std::span(&own, 1));
  }
}

// Each task uses `accesses` data of 1,024 chosen at random: it writes the last one and reads the others.
void random_data(Workload& work, std::size_t count, std::size_t accesses) {
  Random random(2);
  work.data = 1024;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Index> chosen = random.different(accesses, 1024);
    work.add(std::span(chosen).first(accesses - 1), std::span(chosen).last(1));
  }
}

// The tasks of a tiled Cholesky factorisation, right-looking.
void cholesky(Workload& work, std::size_t tiles) {
  const auto n = static_cast<Index>(tiles);
  const auto tile = [n](Index i, Index j) { return i * n + j; };
  for (Index k = 0; k < n; ++k) {
    add(work, {}, {tile(k, k)});
    for (Index i = k + 1; i < n; ++i) add(work, {tile(k, k)}, {tile(i, k)});
    for (Index i = k + 1; i < n; ++i) {
      add(work, {tile(i, k)}, {tile(i, i)});
      for (Index j = k + 1; j < i; ++j) add(work, {tile(i, k), tile(j, k)}, {tile(i, j)});
    }
  }
}

// Tasks that a recursive Fibonacci spawns where each call above 1 spawns both of its own: all calls but the first.
std::size_t spawned_by_fibonacci(std::uint32_t n) {
  std::size_t before = 1;  // calls made by the evaluation for n - 1 and n
  std::size_t calls = 1;
  for (std::uint32_t i = 2; i <= n; ++i) {
    const std::size_t next = 1 + before + calls;
    before = calls;
    calls = next;
  }
  return calls - 1;
}

}  // namespace

const std::vector<PatternInfo>& pattern_infos() {
  static const std::vector<PatternInfo> infos = {
      {"independent", {}, "20,000 tasks, each on a datum of its own"},
      {"independent_lambda", {.one_off = true}, "the same, with a lambda that is used once for each task"},
      {"chain", {}, "20,000 tasks on one datum"},
      {"tree", {}, "16,383 tasks from the root to the leaves"},
      {"fan", {}, "20,000 tasks: one forks 99, the next one joins them"},
      {"wavefront", {}, "1,000 x 1,000 tasks that follow their left and upper neighbours"},
      {"layered", {}, "100,000 tasks in layers of 1,000, each after 4 of the layer before"},
      {"data1", {}, "20,000 tasks, each on 1 of 1,024 data"},
      {"data2", {}, "20,000 tasks, each on 2 of 1,024 data"},
      {"data3", {}, "20,000 tasks, each on 3 of 1,024 data"},
      {"cholesky", {}, "11,480 tasks of a factorisation of 40 x 40 tiles"},
      {"fibonacci", {.form = Form::ForkJoin}, "21,890 tasks that submit tasks and wait for them"},
      {"submit2",
       {.form = Form::TwoSubmitters},
       "2 x 10,000 independent tasks, submitted by two threads at once"},
      {"one_task", {}, "one task from its submission to its result, 1,000 times"},
      {"cold", {.once = true}, "200,000 independent tasks, the first that a process submits"},
  };
  return infos;
}

Workload make_pattern(std::string_view name, const Sizes& sizes) {
  const auto info = std::find_if(pattern_infos().begin(), pattern_infos().end(),
                                 [&](const PatternInfo& pattern) { return pattern.name == name; });
  if (info == pattern_infos().end()) throw std::invalid_argument("there is no pattern " + std::string(name));
  Workload work;
  work.name = name;
  work.kind = info->kind;
  if (name == "independent" || name == "independent_lambda") {
    independent(work, scaled(20000, sizes));
  } else if (name == "chain") {
    chain(work, scaled(20000, sizes));
  } else if (name == "tree") {
    tree(work, static_cast<std::size_t>(std::bit_width(scaled(16383, sizes))));
  } else if (name == "fan") {
    fan(work, scaled(20000, sizes));
  } else if (name == "wavefront") {
    Sizes less = sizes;
    less.multiplier = 1;
    wavefront(work, scaled_side(sizes.wavefront, less, 1));
  } else if (name == "layered") {
    layered(work, scaled(100000, sizes));
  } else if (name == "data1" || name == "data2" || name == "data3") {
    random_data(work, scaled(20000, sizes), static_cast<std::size_t>(name.back() - '0'));
  } else if (name == "cholesky") {
    cholesky(work, scaled_side(40, sizes, 3));
  } else if (name == "fibonacci") {
    work.argument = 20;
    while (work.argument > 2 && spawned_by_fibonacci(work.argument) > 21890 / sizes.divisor) --work.argument;
    work.tasks = spawned_by_fibonacci(work.argument);
    return work;
  } else if (name == "submit2") {
    independent(work, 2 * scaled(10000, sizes));
  } else if (name == "one_task") {
    independent(work, 1);
    work.rounds = scaled(1000, sizes);
  } else if (name == "cold") {
    independent(work, scaled(200000, sizes));
  } else {
    throw std::logic_error("nothing makes the pattern " + std::string(name));
  }
  work.find_edges();
  return work;
}

const std::vector<std::string_view>& grain_patterns() {
  static const std::vector<std::string_view> names = {"stencil", {}, "fft", "tree", "nearest", "random"};
  return names;
}

Workload make_grain_pattern(std::string_view name, std::size_t width, std::size_t steps) {
  if (std::find(grain_patterns().begin(), grain_patterns().end(), name) == grain_patterns().end())
    throw std::invalid_argument("there is no pattern metg_" + std::string(name));
  constexpr std::size_t kRadix = 5;
  Workload work;
  work.name = "metg_" + std::string(name);
  Random random(3);
  const auto last = static_cast<std::ptrdiff_t>(width) - 1;
  const auto stages = static_cast<std::size_t>(std::bit_width(width - 1));
  std::vector<Index> row;  // the data of the row before
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<Index> next;
    std::size_t points = width;
    if (name == "tree" && step < stages) points = std::min(width, std::size_t{1} << step);
    for (std::size_t x = 0; x < points; ++x) {
      std::vector<Index> read;
      const auto at = static_cast<std::ptrdiff_t>(x);
      const auto reads = [&](std::ptrdiff_t point) {
        if (point >= 0 && point <= last) read.push_back(row[static_cast<std::size_t>(point)]);
      };
      if (step > 0) {
        if (name == "stencil") {
          for (std::ptrdiff_t point = at - 1; point <= at + 1; ++point) reads(point);
        } else if (name == "fft") {
          const auto distance = std::ptrdiff_t{1} << ((step - 1) % stages);
          for (const std::ptrdiff_t point : {at - distance, at, at + distance}) reads(point);
        } else if (name == "tree") {
          reads(at / 2);
        } else if (name == "nearest") {
          for (std::ptrdiff_t point = at - 2; point <= at + 2; ++point) reads(point);
        } else {
          for (const Index point : random.different(std::min(kRadix, width), width)) reads(point);
        }
      }
      next.push_back(static_cast<Index>(work.tasks));
      work.add(read, std::span(&next.back(), 1));
    }
    row = std::move(next);
  }
  work.find_edges();
  return work;
}

}  // namespace hocket::bench
