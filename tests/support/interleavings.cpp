// SPDX-License-Identifier: Apache-2.0
/// The explorer of interleavings: fibers, the machine they run on, and the search over its choices.
#include "support/interleavings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "support/fiber.hpp"

namespace hocket::testing {
namespace model {
namespace {

/// Thrown in a thread that sleeps in a run that is not pursued, so that it unwinds.
struct Abandoned {};

/// Mixes two words into one (the finalizer of SplitMix64 over their combination).
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct BufferedStore {
  Location* location;
  std::uint64_t bits;
  bool release;
  std::uint32_t awaited = 0;  ///< the threads, as bits, whose heavy fence waits for it
  bool early = true;          ///< its thread has done no operation since that another thread could see
};

enum class Status {
  kIdle,      ///< not begun
  kReady,     ///< before an operation that can always be done
  kDraining,  ///< before one that first waits until the thread's buffer is empty
  kAwaiting,  ///< in a heavy fence
  kAsleep,
  kEnded
};

struct ModelThread {
  std::unique_ptr<Fiber> fiber;
  Status status = Status::kIdle;
  std::uint64_t history = 0;  ///< hash of what its operations returned
  std::vector<BufferedStore> buffer;
  const Location* word = nullptr;  ///< asleep: on this
  bool timed = false;              ///< asleep: with a deadline
  bool timed_out = false;
};

/// One thing that can happen next.
struct Option {
  enum class Kind { kStep, kFlush, kTimeout, kEnd } kind;
  std::size_t thread;
  std::size_t entry;  ///< kFlush: of the buffer
};

/// One thing that has happened.
struct Event {
  enum class Kind {
    kLoad,
    kStore,
    kReaches,
    kUpdate,
    kKeep,
    kFence,
    kHeavyFence,
    kAsleep,
    kAwake,
    kTimeout,
    kWake,
    kEnd
  } kind;
  std::size_t thread;
  unsigned location;
  std::uint64_t value;
};

class Machine {
 public:
  Machine(const std::function<void(Program&)>& build, std::uint64_t most_schedules)
      : build_(build), most_schedules_(most_schedules) {}

  Exploration explore();

  // What the operations call. All are on a fiber unless `outside` says that no thread runs.
  bool outside() const { return running_ == kNobody; }
  void construct(Location& location);
  void destroy(const Location& location);
  std::uint64_t load(const Location& location);
  void store(Location& location, std::uint64_t bits, bool release, bool fence_after);
  void before_update();
  void after_update(Location& location, std::optional<std::uint64_t> changed);
  void fence();
  void heavy_fence();
  bool sleep(const Location& word, std::uint64_t expected, bool timed, bool look);
  int wake(const Location& word, int most);
  void fail(const std::string& message);

  static inline Machine* current = nullptr;

 private:
  static constexpr std::size_t kNobody = ~std::size_t{0};
  static constexpr std::size_t kStackBytes = 256 * 1024;
  static constexpr std::size_t kLongestRun = 20'000;  ///< events; in a longer run a thread spins

  struct Choice {
    std::size_t options;
    std::size_t taken;
    std::optional<Option> option;  ///< the one taken, where it is known from the run before
  };

  static void fiber_main();
  void run_once();
  bool next_path();

  ModelThread& me() { return threads_[running_]; }
  void record(Event::Kind kind, const Location* location, std::uint64_t value) {
    events_.push_back({kind, running_, location != nullptr ? location->number : 0, value});
  }
  void remember(std::uint64_t result) { me().history = mix(me().history, result); }
  std::uint64_t canonical(const Location& location, std::uint64_t bits);
  void write(Location& location, std::uint64_t bits);
  std::uint64_t memory_hash(const Location& location) {
    return mix(location.identity, canonical(location, location.bits));
  }

  void before(Status status);
  void schedule();
  void hand_over_to(std::size_t thread);
  bool find_options();
  void collect_options();
  std::uint64_t state();
  std::size_t choose(std::size_t options);
  void flush(std::size_t thread, std::size_t entry);
  void abandon();
  std::string story() const;

  const std::function<void(Program&)>& build_;
  const std::uint64_t most_schedules_;

  // The search.
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  std::unordered_set<std::uint64_t> seen_;
  std::string failure_;

  // The current run.
  Fiber main_;
  Program program_;
  std::vector<ModelThread> threads_;
  std::size_t running_ = kNobody;
  bool abandoned_ = false;  ///< the threads run to their ends one after the other, only to clean up
  std::uint64_t memory_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> names_;  ///< of addresses, the same in all runs
  std::uint64_t constructed_ = 0;
  unsigned locations_ = 0;
  std::vector<Option> options_;
  std::vector<Event> events_;
};

// ---- the search ---------------------------------------------------------------------------------------------------

Exploration Machine::explore() {
  Exploration result;
  do {
    run_once();
    ++result.schedules;
    if (!failure_.empty()) break;
    result.exhausted = !next_path();
  } while (!result.exhausted && result.schedules < most_schedules_);
  result.states = seen_.size();
  result.failure = failure_;
  return result;
}

/// Turns to the next way at the deepest choice that has one left; false when there is none.
bool Machine::next_path() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  path_.back().option.reset();
  return true;
}

void Machine::run_once() {
  depth_ = 0;
  memory_ = 0;
  names_.clear();
  constructed_ = 0;
  locations_ = 0;
  events_.clear();
  abandoned_ = false;
  program_ = Program{};
  build_(program_);

  threads_.resize(program_.threads.size());
  for (ModelThread& thread : threads_) {
    if (!thread.fiber) thread.fiber = std::make_unique<Fiber>(&fiber_main, kStackBytes);
    thread.status = Status::kIdle;
    thread.history = 0;
    thread.buffer.clear();
  }
  // Up to its first operation a thread does nothing that another could see: no choice.
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    running_ = thread;
    main_.switch_to(*threads_[thread].fiber);
  }
  running_ = kNobody;
  if (!threads_.empty()) schedule();  // comes back when all threads have ended
  if (!abandoned_ && program_.check) program_.check();
  program_ = Program{};
}

/// Each fiber runs a thread of one program after the other.
void Machine::fiber_main() {
  Fiber::arrived();
  while (true) {
    Machine& machine = *current;
    try {
      machine.program_.threads[machine.running_].body();
    } catch (const Abandoned&) {
    }
    ModelThread& self = machine.me();
    machine.record(Event::Kind::kEnd, nullptr, 0);
    const bool began_only = self.status == Status::kIdle;
    self.status = Status::kEnded;
    if (began_only)
      self.fiber->switch_to(machine.main_);  // without any operation
    else
      machine.schedule();
  }
}

/// Lets happen what the path says, until it is the turn of the calling flow.
void Machine::schedule() {
  const std::size_t self = running_;
  while (true) {
    if (abandoned_) {
      if (self != kNobody && threads_[self].status != Status::kEnded) return;  // on to its end
      std::size_t next = 0;
      while (next < threads_.size() && threads_[next].status == Status::kEnded) ++next;
      hand_over_to(next < threads_.size() ? next : kNobody);
      return;
    }
    const bool known = depth_ < path_.size() && path_[depth_].option;
    if (!known && !find_options()) continue;
    const std::size_t taken = known ? path_[depth_++].taken : choose(options_.size());
    Choice& choice = path_[depth_ - 1];
    if (!known) choice.option = options_[taken];
    const Option option = *choice.option;
    if (option.kind == Option::Kind::kEnd) {
      hand_over_to(kNobody);
      return;
    }
    if (option.kind == Option::Kind::kFlush) {
      flush(option.thread, option.entry);
      continue;
    }
    ModelThread& thread = threads_[option.thread];
    if (option.kind == Option::Kind::kTimeout) {
      thread.timed_out = true;
      thread.status = Status::kReady;
    }
    hand_over_to(option.thread);
    return;
  }
}

/// Collects what can happen next; false when the run is not to be pursued.
bool Machine::find_options() {
  collect_options();
  if (options_.empty()) {
    const bool ended = std::all_of(threads_.begin(), threads_.end(),
                                   [](const ModelThread& thread) { return thread.status == Status::kEnded; });
    if (ended) {
      options_.push_back({Option::Kind::kEnd, kNobody, 0});
      return true;
    }
    fail("a thread sleeps for ever");
    return false;
  }
  if (events_.size() > kLongestRun) {
    fail("the threads go on for ever");
    return false;
  }
  if (options_.size() > 1 && depth_ == path_.size() && !seen_.insert(state()).second) {
    abandon();
    return false;
  }
  return true;
}

/// Gives the turn to that thread, or to the main flow; back when it is the caller's turn again.
void Machine::hand_over_to(std::size_t thread) {
  const std::size_t self = running_;
  running_ = thread;
  if (thread == self) return;
  Fiber& from = self == kNobody ? main_ : *threads_[self].fiber;
  Fiber& to = thread == kNobody ? main_ : *threads_[thread].fiber;
  from.switch_to(to);
}

void Machine::collect_options() {
  options_.clear();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const ModelThread& thread = threads_[i];
    bool ready = thread.status == Status::kReady;
    if (thread.status == Status::kDraining) ready = thread.buffer.empty();
    if (thread.status == Status::kAwaiting)
      ready = std::none_of(threads_.begin(), threads_.end(), [i](const ModelThread& other) {
        return std::any_of(other.buffer.begin(), other.buffer.end(),
                           [i](const BufferedStore& store) { return (store.awaited >> i & 1U) != 0; });
      });
    if (ready) options_.push_back({Option::Kind::kStep, i, 0});
    if (thread.status == Status::kAsleep && thread.timed) options_.push_back({Option::Kind::kTimeout, i, 0});
    for (std::size_t entry = 0; entry < thread.buffer.size(); ++entry) {
      const auto here = thread.buffer.begin() + static_cast<std::ptrdiff_t>(entry);
      const bool overtakes_its_place =
          std::any_of(thread.buffer.begin(), here,
                      [&](const BufferedStore& store) { return store.location == here->location; });
      if (entry == 0 || (!here->release && !overtakes_its_place))
        options_.push_back({Option::Kind::kFlush, i, entry});
    }
  }
}

std::uint64_t Machine::state() {
  std::uint64_t hash = memory_;
  for (const ModelThread& thread : threads_) {
    hash = mix(hash, thread.history);
    hash = mix(hash, static_cast<std::uint64_t>(thread.status) * 2 + (thread.timed_out ? 1 : 0));
    hash = mix(hash, thread.buffer.size());
    for (const BufferedStore& store : thread.buffer) {
      hash = mix(hash, store.location->identity);
      hash = mix(hash, canonical(*store.location, store.bits));
      hash = mix(hash, store.awaited * std::uint64_t{2} + (store.release ? 1 : 0));
    }
  }
  return hash;
}

std::size_t Machine::choose(std::size_t options) {
  if (depth_ == path_.size()) path_.push_back({options, 0, std::nullopt});
  const Choice& choice = path_[depth_++];
  if (choice.options != options) {
    std::fprintf(stderr, "explorer: the program is not the same in each run\n");
    std::abort();
  }
  return choice.taken;
}

void Machine::abandon() {
  abandoned_ = true;
  for (ModelThread& thread : threads_) {
    for (const BufferedStore& store : thread.buffer) write(*store.location, store.bits);
    thread.buffer.clear();
  }
}

void Machine::fail(const std::string& message) {
  if (abandoned_ || !failure_.empty()) return;
  failure_ = message + story();
  abandon();
}

std::string Machine::story() const {
  std::string text = "\n";
  const auto add = [&text](const auto&... parts) { ((text += parts), ...); };
  for (const Event& event : events_) {
    const std::string place = std::to_string(event.location);
    const std::string value = std::to_string(event.value);
    add("  ", event.thread == kNobody ? std::string("nobody") : program_.threads[event.thread].name, ": ");
    switch (event.kind) {
      case Event::Kind::kLoad:
        add("loads ", value, " from [", place, "]");
        break;
      case Event::Kind::kStore:
        add("stores ", value, " to [", place, "], buffered");
        break;
      case Event::Kind::kReaches:
        add("its ", value, " reaches [", place, "]");
        break;
      case Event::Kind::kUpdate:
        add("updates [", place, "] to ", value);
        break;
      case Event::Kind::kKeep:
        add("finds ", value, " in [", place, "] and leaves it");
        break;
      case Event::Kind::kFence:
        add("full fence");
        break;
      case Event::Kind::kHeavyFence:
        add("heavy fence");
        break;
      case Event::Kind::kAsleep:
        add("falls asleep on [", place, "]");
        break;
      case Event::Kind::kAwake:
        add("leaves its sleep on [", place, "]");
        break;
      case Event::Kind::kTimeout:
        add("sleeps on [", place, "] until its deadline");
        break;
      case Event::Kind::kWake:
        add("wakes ", value, " on [", place, "]");
        break;
      case Event::Kind::kEnd:
        add("ends");
        break;
    }
    text += "\n";
  }
  return text;
}

// ---- the machine --------------------------------------------------------------------------------------------------

/// A value as it is in all runs: addresses are replaced by names.
std::uint64_t Machine::canonical(const Location& location, std::uint64_t bits) {
  if (!location.pointer || bits == 0) return bits;
  const auto named = names_.find(bits);
  if (named != names_.end()) return named->second;
  const std::uint64_t name = outside() ? mix(1, ++constructed_) : mix(me().history, running_ + 2);
  names_.emplace(bits, name);
  return name;
}

void Machine::write(Location& location, std::uint64_t bits) {
  memory_ ^= memory_hash(location);
  location.bits = bits;
  memory_ ^= memory_hash(location);
}

void Machine::construct(Location& location) {
  if (outside()) {
    location.identity = mix(2, ++constructed_);
  } else {
    remember(3);
    location.identity = mix(me().history, running_);
  }
  location.number = locations_++;
  memory_ ^= memory_hash(location);
}

void Machine::destroy(const Location& location) {
  for (const ModelThread& thread : threads_)
    for (const BufferedStore& store : thread.buffer)
      if (store.location == &location) {
        std::fprintf(stderr,
                     "explorer: an atomic variable is destroyed while a store to it is in a buffer\n");
        std::abort();
      }
  memory_ ^= memory_hash(location);
}

/// A point where any other thread may go first.
void Machine::before(Status status) {
  ModelThread& self = me();
  if (abandoned_) {
    if (events_.size() < 10 * kLongestRun) return;
    std::fprintf(stderr, "explorer: a thread of the program spins\n");
    std::abort();
  }
  const bool begun = self.status != Status::kIdle;
  self.status = status;
  if (begun)
    schedule();
  else
    self.fiber->switch_to(main_);  // before its first operation
  for (BufferedStore& store : self.buffer) store.early = false;
}

std::uint64_t Machine::load(const Location& location) {
  if (outside()) return location.bits;
  before(Status::kReady);
  std::uint64_t bits = location.bits;
  for (const BufferedStore& store : me().buffer)
    if (store.location == &location) bits = store.bits;
  remember(canonical(location, bits));
  record(Event::Kind::kLoad, &location, bits);
  return bits;
}

void Machine::store(Location& location, std::uint64_t bits, bool release, bool fence_after) {
  if (outside() || abandoned_) {
    write(location, bits);
    return;
  }
  // No other thread sees it before it leaves the buffer, which is a choice of its own: no point to switch at.
  canonical(location, bits);
  remember(4);
  me().buffer.push_back({&location, bits, release});
  record(Event::Kind::kStore, &location, bits);
  if (fence_after) fence();
}

void Machine::flush(std::size_t thread, std::size_t entry) {
  std::vector<BufferedStore>& buffer = threads_[thread].buffer;
  const BufferedStore store = buffer[entry];
  buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(entry));
  write(*store.location, store.bits);
  events_.push_back({Event::Kind::kReaches, thread, store.location->number, store.bits});
}

void Machine::before_update() {
  if (!outside()) before(Status::kDraining);
}

void Machine::after_update(Location& location, std::optional<std::uint64_t> changed) {
  if (!outside()) {
    remember(canonical(location, location.bits));
    record(changed ? Event::Kind::kUpdate : Event::Kind::kKeep, &location, changed.value_or(location.bits));
  }
  if (changed) write(location, *changed);
}

void Machine::fence() {
  if (outside() || me().buffer.empty()) return;  // an empty buffer: nothing to wait for
  before(Status::kDraining);
  remember(5);
  record(Event::Kind::kFence, nullptr, 0);
}

void Machine::heavy_fence() {
  if (outside()) return;
  before(Status::kDraining);
  if (!abandoned_) {
    for (ModelThread& thread : threads_) {
      // Stores enter the buffer as soon as their thread comes to them. Those that came in early may just as well not
      // have been done yet, any number of the last of them.
      auto& buffer = thread.buffer;
      const auto first_early =
          std::find_if(buffer.begin(), buffer.end(), [](const BufferedStore& store) { return store.early; });
      const std::size_t done = static_cast<std::size_t>(first_early - buffer.begin()) +
                               choose(static_cast<std::size_t>(buffer.end() - first_early) + 1);
      for (std::size_t entry = 0; entry < done; ++entry) buffer[entry].awaited |= 1U << running_;
    }
    before(Status::kAwaiting);
  }
  remember(6);
  record(Event::Kind::kHeavyFence, nullptr, 0);
}

bool Machine::sleep(const Location& word, std::uint64_t expected, bool timed, bool look) {
  before(Status::kDraining);
  if (abandoned_) throw Abandoned{};
  ModelThread& self = me();
  if (look && word.bits != expected) {
    remember(7);
    record(Event::Kind::kAwake, &word, 0);
    return true;
  }
  remember(8);
  record(Event::Kind::kAsleep, &word, 0);
  self.word = &word;
  self.timed = timed;
  self.timed_out = false;
  self.status = Status::kAsleep;
  schedule();
  if (abandoned_) throw Abandoned{};
  const bool in_time = !self.timed_out;
  self.timed_out = false;
  remember(in_time ? 9 : 10);
  record(in_time ? Event::Kind::kAwake : Event::Kind::kTimeout, &word, 0);
  return in_time;
}

int Machine::wake(const Location& word, int most) {
  if (outside()) return 0;
  before(Status::kDraining);
  int woken = 0;
  while (!abandoned_ && woken < most) {
    std::vector<std::size_t> sleepers;
    for (std::size_t i = 0; i < threads_.size(); ++i)
      if (threads_[i].status == Status::kAsleep && threads_[i].word == &word) sleepers.push_back(i);
    if (sleepers.empty()) break;
    // Where all wake, their order makes no difference.
    const bool all = sleepers.size() <= static_cast<std::size_t>(most - woken);
    threads_[sleepers[all ? 0 : choose(sleepers.size())]].status = Status::kReady;
    ++woken;
  }
  remember(11 + static_cast<std::uint64_t>(woken));
  record(Event::Kind::kWake, &word, static_cast<std::uint64_t>(woken));
  return woken;
}

}  // namespace

Location::Location(std::uint64_t initial, bool holds_addresses)
    : bits(initial), identity(0), pointer(holds_addresses) {
  Machine::current->construct(*this);
}
Location::~Location() { Machine::current->destroy(*this); }
std::uint64_t Location::load() const { return Machine::current->load(*this); }
void Location::store(std::uint64_t value, bool release, bool fence_after) {
  Machine::current->store(*this, value, release, fence_after);
}
void Location::before_update() { Machine::current->before_update(); }
void Location::after_update(std::optional<std::uint64_t> changed) {
  Machine::current->after_update(*this, changed);
}
void fence() { Machine::current->fence(); }
void heavy_fence() { Machine::current->heavy_fence(); }
bool sleep(const Location& word, std::uint64_t expected, bool timed, bool look) {
  return Machine::current->sleep(word, expected, timed, look);
}
int wake(const Location& word, int most) { return Machine::current->wake(word, most); }

}  // namespace model

Exploration explore(const std::function<void(Program&)>& build, std::uint64_t most_schedules) {
  model::Machine machine(build, most_schedules);
  model::Machine::current = &machine;
  Exploration result = machine.explore();
  model::Machine::current = nullptr;
  return result;
}

void fail(const std::string& message) { model::Machine::current->fail(message); }

}  // namespace hocket::testing
