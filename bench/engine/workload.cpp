// SPDX-License-Identifier: Apache-2.0
#include "engine/workload.hpp"

#include <algorithm>

namespace hocket::bench {

void Workload::add(std::span<const std::uint32_t> read, std::span<const std::uint32_t> written) {
  accessed_.insert(accessed_.end(), read.begin(), read.end());
  accessed_.insert(accessed_.end(), written.begin(), written.end());
  for (const std::uint32_t datum : std::span(accessed_).subspan(first_access_.back()))
    data = std::max<std::size_t>(data, std::size_t{datum} + 1);
  reads_.push_back(static_cast<std::uint8_t>(read.size()));
  first_access_.push_back(accessed_.size());
  ++tasks;
}

void Workload::find_edges() {
  constexpr std::uint32_t kNobody = 0xffffffff;
  struct Datum {
    std::uint32_t writer = kNobody;
    std::vector<std::uint32_t> readers;
  };
  std::vector<Datum> state(data);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::uint32_t> before;
  for (std::size_t task = 0; task < tasks; ++task) {
    const auto index = static_cast<std::uint32_t>(task);
    const Accesses access = accesses(task);
    before.clear();
    for (std::size_t i = 0; i < access.data.size(); ++i) {
      Datum& datum = state[access.data[i]];
      if (i < access.reads) {
        if (datum.writer != kNobody) before.push_back(datum.writer);
        datum.readers.push_back(index);
      } else {
        if (datum.readers.empty() && datum.writer != kNobody) before.push_back(datum.writer);
        before.insert(before.end(), datum.readers.begin(), datum.readers.end());
        datum.readers.clear();
        datum.writer = index;
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const std::uint32_t predecessor : before) edges.emplace_back(predecessor, index);
  }

  first_successor_.assign(tasks + 1, 0);
  predecessors_.assign(tasks, 0);
  for (const auto& [from, to] : edges) {
    ++first_successor_[from + 1];
    ++predecessors_[to];
  }
  for (std::size_t task = 0; task < tasks; ++task) first_successor_[task + 1] += first_successor_[task];
  successors_.resize(edges.size());
  std::vector<std::size_t> next(first_successor_.begin(), first_successor_.end() - 1);
  for (const auto& [from, to] : edges) successors_[next[from]++] = to;
}

}  // namespace hocket::bench
