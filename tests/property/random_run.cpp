// SPDX-License-Identifier: Apache-2.0
/// A random program on Hocket, compared with the reference.
#include <fmt/format.h>

#include <map>
#include <variant>

#include "property/random_program.hpp"

namespace hocket::property {
namespace {

/// The arrays of a program on a runtime.
class Arrays {
 public:
  Arrays(Runtime& runtime, const Program& program) : runtime_(runtime) {
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      const Array& array = program.arrays[i];
      DataOptions options;
      options.name = fmt::format("array{}", i);
      memory_.emplace_back(array.borrowed ? array.rows * array.columns : 0);
      Word* const memory = memory_.back().data();
      for (std::size_t e = 0; e < memory_.back().size(); ++e) memory[e] = made(static_cast<Word>(i + 1), e);
      if (array.rank == 1 && array.borrowed) {
        arrays_.emplace_back(runtime.data(std::span<Word>(memory, array.rows), options));
      } else if (array.rank == 1) {
        arrays_.emplace_back(runtime.data<Word>({array.rows}, options));
      } else if (array.borrowed) {
        arrays_.emplace_back(runtime.data(memory, {array.rows, array.columns}, options));
      } else {
        arrays_.emplace_back(runtime.data<Word>({array.rows, array.columns}, options));
      }
      if (!array.borrowed)
        submit_make(runtime, {}, {i, 0, 0, array.rows, array.columns}, static_cast<Word>(i + 1));
    }
  }

  Data<Word, 1> line(const Part& part) const {
    return std::get<Data<Word, 1>>(arrays_[part.array]).block({part.row}, {part.rows});
  }
  Data<Word, 2> grid(const Part& part) const {
    return std::get<Data<Word, 2>>(arrays_[part.array])
        .block({part.row, part.column}, {part.rows, part.columns});
  }
  bool is_line(const Part& part) const { return arrays_[part.array].index() == 0; }

  Task submit_make(Submitter& to, TaskOptions options, const Part& part, Word seed) const {
    return is_line(part) ? to.submit(std::move(options), property::make_codelet<1>(), seed, line(part))
                         : to.submit(std::move(options), property::make_codelet<2>(), seed, grid(part));
  }
  Task submit_two(Submitter& to, TaskOptions options, const Step& step, bool fail) const {
    if (is_line(step.to))
      return to.submit(std::move(options), fail ? failing_codelet<1>() : stir_codelet<1>(), step.seed,
                       line(step.from), line(step.to));
    return to.submit(std::move(options), fail ? failing_codelet<2>() : stir_codelet<2>(), step.seed,
                     grid(step.from), grid(step.to));
  }

  /// Compares a part with the reference; it must fail to be read exactly where it is spoilt.
  std::string compare(const Reference& reference, const Part& part) const {
    try {
      if (is_line(part)) {
        const auto view = runtime_.read(line(part));
        for (std::size_t r = 0; r < part.rows; ++r)
          if (const std::string error = differs(reference, part, r, 0, view[r]); !error.empty()) return error;
      } else {
        const auto view = runtime_.read(grid(part));
        for (std::size_t r = 0; r < part.rows; ++r)
          for (std::size_t c = 0; c < part.columns; ++c)
            if (const std::string error = differs(reference, part, r, c, view(r, c)); !error.empty())
              return error;
      }
    } catch (const TaskError& error) {
      return reference.spoilt(part) ? "" : fmt::format("unexpected: {}", error.what());
    }
    return reference.spoilt(part)
               ? fmt::format("array {} could be read though a task that writes it failed", part.array)
               : "";
  }

  void host_write(const Step& step) const {
    const bool anew = step.kind == StepKind::HostOverwrite;
    const auto fill = [&](Word& value, std::size_t i) { value = made(step.seed, i); };
    try {
      if (is_line(step.to))
        each(anew ? runtime_.overwrite(line(step.to)) : runtime_.write(line(step.to)), fill);
      else
        each(anew ? runtime_.overwrite(grid(step.to)) : runtime_.write(grid(step.to)), fill);
    } catch (const TaskError&) {  // spoilt: the reference leaves it so
    }
  }

  /// The user's memory once the handles are gone.
  std::string compare_borrowed(const Program& program, const Reference& reference) {
    arrays_.clear();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Array& array = program.arrays[i];
      const Part whole{i, 0, 0, array.rows, array.columns};
      if (memory_[i].empty() || reference.spoilt(whole)) continue;
      for (std::size_t r = 0; r < array.rows; ++r)
        for (std::size_t c = 0; c < array.columns; ++c)
          if (const std::string error = differs(reference, whole, r, c, memory_[i][r * array.columns + c]);
              !error.empty())
            return "in the borrowed memory: " + error;
    }
    return "";
  }

 private:
  static std::string differs(const Reference& reference, const Part& part, std::size_t r, std::size_t c,
                             Word value) {
    const Word expected = reference.value(part.array, part.row + r, part.column + c);
    if (value == expected) return "";
    return fmt::format("array {} element ({}, {}) is {} instead of {}", part.array, part.row + r,
                       part.column + c, value, expected);
  }

  Runtime& runtime_;
  std::vector<std::vector<Word>> memory_;
  std::vector<std::variant<Data<Word, 1>, Data<Word, 2>>> arrays_;
};

}  // namespace

std::string run_and_compare(Runtime& runtime, const Program& program) {
  Reference reference(program);
  Arrays arrays(runtime, program);
  std::vector<Task> tasks;
  for (const Step& step : program.steps) {
    reference.execute_next(step);
    Task task;
    TaskOptions options;
    options.priority = step.priority;
    if (step.after) options.after = {tasks[*step.after]};
    switch (step.kind) {
      case StepKind::Make:
        task = arrays.submit_make(runtime, std::move(options), step.to, step.seed);
        break;
      case StepKind::Stir:
        task = arrays.submit_two(runtime, std::move(options), step, false);
        break;
      case StepKind::Fail:
        task = arrays.submit_two(runtime, std::move(options), step, true);
        break;
      case StepKind::ReadCheck:
        if (const std::string error = arrays.compare(reference, step.to); !error.empty()) return error;
        break;
      case StepKind::HostWrite:
      case StepKind::HostOverwrite:
        arrays.host_write(step);
        break;
      case StepKind::GraphTwice: {
        const Graph graph = runtime.record([&](Graph& recording) {
          for (const Step& inner : step.inner) {
            TaskOptions inner_options;
            inner_options.priority = inner.priority;
            if (inner.kind == StepKind::Make)
              arrays.submit_make(recording, std::move(inner_options), inner.to, inner.seed);
            else
              arrays.submit_two(recording, std::move(inner_options), inner, false);
          }
        });
        runtime.run(graph);
        runtime.run(graph);
        break;
      }
    }
    if (step.hasty && task) {
      try {
        task.get();
      } catch (const TaskError&) {
      }
    }
    tasks.push_back(std::move(task));
  }
  try {
    runtime.wait();
  } catch (const TaskError&) {
  }
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const Array& array = program.arrays[i];
    // Row by row, so that what is not spoilt is compared too.
    for (std::size_t r = 0; r < array.rows; ++r)
      if (const std::string error = arrays.compare(reference, {i, r, 0, 1, array.columns}); !error.empty())
        return error;
  }
  return arrays.compare_borrowed(program, reference);
}

}  // namespace hocket::property
