// SPDX-License-Identifier: Apache-2.0
/// Runtimes that take part, and what each benchmark program says of those in it.
#pragma once

#include <memory>
#include <span>

#include "engine/gate.hpp"
#include "engine/task_body.hpp"
#include "engine/workload.hpp"

namespace hocket::bench {

/// What a contender is made for.
struct Setting {
  const Workload& workload;  ///< Outlives the contender.
  Body body = Body::Empty;
  int workers = 1;
};

/// A runtime, started, with its data known to it and, where graphs are run again, the graph built: whatever is not
/// timed. One thread uses it.
class Contender {
 public:
  Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;
  virtual ~Contender() = default;

  /// Does all rounds of the workload; what is timed.
  virtual void run() = 0;
  /// The same with the workers kept busy by the gate until all is submitted; `Form::Tasks` only. What `run` would
  /// find built is built here, so that its memory is seen.
  virtual void run_held(Gate& gate) = 0;
};

struct Entry {
  const char* name;
  /// Whether the runtime has something for such a workload.
  bool (*fits)(const Kind& kind, int workers);
  /// For what fits.
  std::unique_ptr<Contender> (*make)(const Setting& setting);
};

/// Defined by each program.
std::span<const Entry> runtimes();

/// Makes `Template<body>` for a body that is known at run time only.
template <template <Body> class Template, class... Args>
std::unique_ptr<Contender> make_for_body(const Setting& setting, const Args&... args) {
  switch (setting.body) {
    case Body::Empty:
      return std::make_unique<Template<Body::Empty>>(setting, args...);
    case Body::Work:
      return std::make_unique<Template<Body::Work>>(setting, args...);
    case Body::Stamp:
      return std::make_unique<Template<Body::Stamp>>(setting, args...);
    case Body::Count:
      return std::make_unique<Template<Body::Count>>(setting, args...);
  }
  return nullptr;
}

}  // namespace hocket::bench
