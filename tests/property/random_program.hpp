// SPDX-License-Identifier: Apache-2.0
/// Random programs: a few arrays, random parts of them, and steps that use them, run on Hocket and, step by step, by a
/// reference that knows nothing of it. A failed step spoils what it was to write; what reads spoilt elements is
/// cancelled and spoils in turn; overwriting mends.
#pragma once

#include <array>
#include <cstdint>
#include <hocket/hocket.hpp>
#include <optional>
#include <random>
#include <vector>

#include "property/random_kernels.hpp"

namespace hocket::property {

/// A box of one of the arrays; arrays of rank 1 have one column.
struct Part {
  std::size_t array = 0;
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

enum class StepKind { Make, Stir, Fail, ReadCheck, HostWrite, HostOverwrite, GraphTwice };

struct Step {
  StepKind kind = StepKind::Make;
  Word seed = 0;
  Part from;  ///< Stir and Fail.
  Part to;
  int priority = 0;
  bool hasty = false;                ///< Its handle is waited for before the next step is submitted.
  std::optional<std::size_t> after;  ///< An earlier step of the same program (not inside a graph).
  std::vector<Step> inner;           ///< GraphTwice: what is recorded.
};

struct Array {
  std::size_t rank = 1;
  std::size_t rows = 0;
  std::size_t columns = 1;
  bool borrowed = false;
};

struct Program {
  std::vector<Array> arrays;
  std::vector<Step> steps;
};

/// The same seed gives the same program. `failures`: whether some steps fail.
Program random_program(std::uint64_t seed, bool failures);

/// Element values and which of them are spoilt, after a sequential execution.
class Reference {
 public:
  explicit Reference(const Program& program);
  /// Executes the next step of the program; returns whether it succeeded.
  bool execute_next(const Step& step);

  Word value(std::size_t array, std::size_t row, std::size_t column) const;
  bool spoilt(const Part& part) const;
  void set(const Part& part, Word seed);
  std::size_t failed() const noexcept { return failed_; }

 private:
  struct Cell {
    Word value = 0;
    bool spoilt = false;
  };
  bool execute(const Step& step);
  Cell& at(std::size_t array, std::size_t row, std::size_t column);
  const Cell& at(std::size_t array, std::size_t row, std::size_t column) const;
  void spoil(const Part& part);
  bool graph_reads_spoilt(const std::vector<Step>& steps) const;

  const Program& program_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<bool> succeeded_;
  std::size_t failed_ = 0;
};

/// Runs the program on a runtime and compares; returns a description of the first difference, empty where there is
/// none.
std::string run_and_compare(Runtime& runtime, const Program& program);

}  // namespace hocket::property
