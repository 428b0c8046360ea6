// SPDX-License-Identifier: Apache-2.0
#include "property/random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace hocket::property {
namespace {

using Engine = std::mt19937_64;

std::size_t between(Engine& engine, std::size_t least, std::size_t most) {
  return least + engine() % (most - least + 1);
}
bool chance(Engine& engine, unsigned percent) { return engine() % 100 < percent; }

/// The whole, a tile of a grid, or any box.
Part random_part(Engine& engine, const Program& program, std::size_t array) {
  const Array& shape = program.arrays[array];
  Part part{array, 0, 0, shape.rows, shape.columns};
  if (chance(engine, 25)) return part;
  if (chance(engine, 60)) {
    const std::size_t tile = between(engine, 1, 3) * 2;
    part.row = engine() % ((shape.rows + tile - 1) / tile) * tile;
    part.rows = std::min(tile, shape.rows - part.row);
    if (shape.rank == 2) {
      part.column = engine() % ((shape.columns + tile - 1) / tile) * tile;
      part.columns = std::min(tile, shape.columns - part.column);
    }
    return part;
  }
  part.row = engine() % shape.rows;
  part.rows = between(engine, 1, shape.rows - part.row);
  if (shape.rank == 2) {
    part.column = engine() % shape.columns;
    part.columns = between(engine, 1, shape.columns - part.column);
  }
  return part;
}

bool overlap(const Part& a, const Part& b) {
  return a.array == b.array && a.row < b.row + b.rows && b.row < a.row + a.rows &&
         a.column < b.column + b.columns && b.column < a.column + a.columns;
}

Step random_step(Engine& engine, const Program& program, bool failures, bool inside) {
  Step step;
  step.seed = static_cast<Word>(engine());
  const std::size_t array = engine() % program.arrays.size();
  step.to = random_part(engine, program, array);
  step.priority = chance(engine, 20) ? static_cast<int>(engine() % 5) - 2 : 0;
  const std::size_t dice = engine() % 100;
  if (dice < 20) {
    step.kind = StepKind::Make;
  } else if (!inside && dice < 25) {
    step.kind = StepKind::ReadCheck;
  } else if (!inside && dice < 30) {
    step.kind = chance(engine, 50) ? StepKind::HostWrite : StepKind::HostOverwrite;
  } else if (!inside && dice < 36) {
    step.kind = StepKind::GraphTwice;
    const std::size_t count = between(engine, 1, 6);
    for (std::size_t i = 0; i < count; ++i) step.inner.push_back(random_step(engine, program, false, true));
  } else {
    step.kind = failures && !inside && dice < 42 ? StepKind::Fail : StepKind::Stir;
    // Another part of the same rank; the same one must not be read and written as two parts that overlap.
    for (int attempt = 0; attempt < 20; ++attempt) {
      const std::size_t other = engine() % program.arrays.size();
      if (program.arrays[other].rank != program.arrays[array].rank) continue;
      step.from = random_part(engine, program, other);
      if (!overlap(step.from, step.to)) return step;
    }
    step.kind = StepKind::Make;
  }
  return step;
}

}  // namespace

Program random_program(std::uint64_t seed, bool failures) {
  Engine engine(seed);
  Program program;
  const std::size_t arrays = between(engine, 2, 4);
  for (std::size_t i = 0; i < arrays; ++i) {
    Array array;
    array.rank = i < 2 ? 1 + seed % 2 : between(engine, 1, 2);  // two of one rank at least
    array.rows = between(engine, 1, 13);
    array.columns = array.rank == 2 ? between(engine, 1, 11) : 1;
    array.borrowed = chance(engine, 30);
    program.arrays.push_back(array);
  }
  const std::size_t steps = between(engine, 5, 30);
  for (std::size_t i = 0; i < steps; ++i) {
    Step step = random_step(engine, program, failures, false);
    step.hasty = chance(engine, 5);
    const bool submitted =
        step.kind == StepKind::Make || step.kind == StepKind::Stir || step.kind == StepKind::Fail;
    if (submitted && i > 0 && chance(engine, 10)) {
      const std::size_t earlier = engine() % i;
      const StepKind kind = program.steps[earlier].kind;
      if (kind == StepKind::Make || kind == StepKind::Stir) step.after = earlier;
    }
    program.steps.push_back(std::move(step));
  }
  return program;
}

// ---- the reference ----------------------------------------------------------------------------------------------------

Reference::Reference(const Program& program) : program_(program) {
  for (const Array& array : program.arrays) {
    cells_.emplace_back(array.rows * array.columns);
    const Part whole{cells_.size() - 1, 0, 0, array.rows, array.columns};
    set(whole, static_cast<Word>(cells_.size()));
  }
}

Reference::Cell& Reference::at(std::size_t array, std::size_t row, std::size_t column) {
  return cells_[array][row * program_.arrays[array].columns + column];
}
const Reference::Cell& Reference::at(std::size_t array, std::size_t row, std::size_t column) const {
  return cells_[array][row * program_.arrays[array].columns + column];
}
Word Reference::value(std::size_t array, std::size_t row, std::size_t column) const {
  return at(array, row, column).value;
}

bool Reference::spoilt(const Part& part) const {
  for (std::size_t r = 0; r < part.rows; ++r)
    for (std::size_t c = 0; c < part.columns; ++c)
      if (at(part.array, part.row + r, part.column + c).spoilt) return true;
  return false;
}

void Reference::spoil(const Part& part) {
  for (std::size_t r = 0; r < part.rows; ++r)
    for (std::size_t c = 0; c < part.columns; ++c)
      at(part.array, part.row + r, part.column + c).spoilt = true;
}

void Reference::set(const Part& part, Word seed) {
  for (std::size_t r = 0; r < part.rows; ++r)
    for (std::size_t c = 0; c < part.columns; ++c)
      at(part.array, part.row + r, part.column + c) = {made(seed, r * part.columns + c), false};
}

/// Whether a graph, taken as one step, reads spoilt elements before it writes them itself.
bool Reference::graph_reads_spoilt(const std::vector<Step>& steps) const {
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> written;
  const auto reads_spoilt = [&](const Part& part) {
    for (std::size_t r = 0; r < part.rows; ++r)
      for (std::size_t c = 0; c < part.columns; ++c) {
        const auto key = std::tuple(part.array, part.row + r, part.column + c);
        if (!written.contains(key) && at(part.array, part.row + r, part.column + c).spoilt) return true;
      }
    return false;
  };
  for (const Step& step : steps) {
    if (step.kind == StepKind::Stir && (reads_spoilt(step.from) || reads_spoilt(step.to))) return true;
    for (std::size_t r = 0; r < step.to.rows; ++r)
      for (std::size_t c = 0; c < step.to.columns; ++c)
        written.emplace(step.to.array, step.to.row + r, step.to.column + c);
  }
  return false;
}

bool Reference::execute_next(const Step& step) {
  const bool success = execute(step);
  succeeded_.push_back(success);
  return success;
}

bool Reference::execute(const Step& step) {
  bool success = true;
  const bool ordered_after_failure = step.after && !succeeded_[*step.after];
  switch (step.kind) {
    case StepKind::Make:
      success = !ordered_after_failure;
      if (success)
        set(step.to, step.seed);
      else
        spoil(step.to);
      break;
    case StepKind::Stir:
    case StepKind::Fail: {
      const bool runs = !ordered_after_failure && !spoilt(step.from) && !spoilt(step.to);
      success = runs && step.kind == StepKind::Stir;
      if (runs && step.kind == StepKind::Fail) ++failed_;
      if (!success) {
        spoil(step.to);
        break;
      }
      Word sum = step.seed;
      for (std::size_t r = 0; r < step.from.rows; ++r)
        for (std::size_t c = 0; c < step.from.columns; ++c)
          sum += weighed(at(step.from.array, step.from.row + r, step.from.column + c).value,
                         r * step.from.columns + c);
      for (std::size_t r = 0; r < step.to.rows; ++r)
        for (std::size_t c = 0; c < step.to.columns; ++c) {
          Word& value = at(step.to.array, step.to.row + r, step.to.column + c).value;
          value = stirred(value, sum, r * step.to.columns + c);
        }
      break;
    }
    case StepKind::ReadCheck:
      break;
    case StepKind::HostWrite:
      // It reads before it writes: spoilt data make it fail, and then it has written nothing.
      if (spoilt(step.to))
        spoil(step.to);
      else
        set(step.to, step.seed);
      break;
    case StepKind::HostOverwrite:
      set(step.to, step.seed);
      break;
    case StepKind::GraphTwice:
      for (int run = 0; run < 2; ++run) {
        if (graph_reads_spoilt(step.inner)) {
          for (const Step& inner : step.inner) spoil(inner.to);
        } else {
          for (const Step& inner : step.inner) execute(inner);
        }
      }
      return true;
  }
  return success;
}

}  // namespace hocket::property
