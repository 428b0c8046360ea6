// SPDX-License-Identifier: Apache-2.0
/// What all runtimes are given to do: tasks in program order, each with its accesses to data. Runtimes that infer
/// dependencies take the accesses; those that are told take the edges, which are worked out here beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hocket::bench {

/// How the tasks come to the runtime.
enum class Form : std::uint8_t {
  Tasks,          ///< One thread submits them in order.
  TwoSubmitters,  ///< Two threads at once submit one half each; the halves share no data.
  ForkJoin,       ///< Tasks submit tasks and wait for them: the Fibonacci number of `argument`.
};

/// What a runtime must be able to do for a workload.
struct Kind {
  Form form = Form::Tasks;
  bool one_off = false;  ///< Tasks are lambdas used once, where a runtime tells these from prepared ones.
  bool once = false;     ///< Is about the first time: nothing goes before what is measured.

  /// A graph can be built once for it and run again.
  bool repeats() const noexcept { return form == Form::Tasks && !one_off && !once; }
};

struct Workload {
  std::string name;
  Kind kind;
  std::size_t rounds = 1;      ///< All tasks, then a wait, so many times; `ForkJoin` knows one round only.
  std::uint32_t argument = 0;  ///< Of `ForkJoin`.
  std::size_t tasks = 0;       ///< In one round.
  std::size_t data = 0;        ///< Number of data.

  /// What a task does with its data: it reads the first `reads`, then reads and writes the others.
  struct Accesses {
    std::span<const std::uint32_t> data;
    std::size_t reads = 0;
    std::size_t writes() const noexcept { return data.size() - reads; }
  };
  Accesses accesses(std::size_t task) const noexcept {
    return {std::span(accessed_).subspan(first_access_[task], first_access_[task + 1] - first_access_[task]),
            reads_[task]};
  }
  /// The tasks that wait for this one; empty until `find_edges`.
  std::span<const std::uint32_t> successors(std::size_t task) const noexcept {
    return std::span(successors_)
        .subspan(first_successor_[task], first_successor_[task + 1] - first_successor_[task]);
  }
  /// For how many tasks each one waits; empty until `find_edges`.
  std::span<const std::uint32_t> predecessor_counts() const noexcept { return predecessors_; }
  std::size_t edges() const noexcept { return successors_.size(); }

  /// Adds a task; the data must differ.
  void add(std::span<const std::uint32_t> read, std::span<const std::uint32_t> written);
  /// Derives the edges from the accesses: who reads a datum follows its last writer, who writes it follows those
  /// that have read it since then, or the last writer where nobody has. Each edge counts once.
  void find_edges();

 private:
  std::vector<std::size_t> first_access_{0};
  std::vector<std::uint32_t> accessed_;
  std::vector<std::uint8_t> reads_;
  std::vector<std::size_t> first_successor_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> predecessors_;
};

constexpr std::uint64_t expected_fibonacci(std::uint32_t n) noexcept {
  std::uint64_t before = 0;
  std::uint64_t number = n > 0 ? 1 : 0;
  for (std::uint32_t i = 2; i <= n; ++i) before = std::exchange(number, number + before);
  return number;
}

}  // namespace hocket::bench
