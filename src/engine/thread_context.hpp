// SPDX-License-Identifier: Apache-2.0
/// What one thread keeps at hand of one engine: free blocks for task nodes, codelets seen lately, counters, and the
/// queue of the tasks that it has made ready. Every thread that submits or runs tasks gets one at its first use;
/// contexts of threads that are gone serve others.
///
/// Counters are written by their thread alone, without atomic read-modify-write, and summed by whoever wants to know.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/submission_queue.hpp"
#include "graph/block_pool.hpp"
#include "graph/counter.hpp"
#include "graph/inference.hpp"
#include "graph/task_node.hpp"

namespace hocket::engine {

using graph::Counter;

struct WorkerSlot;

/// A task that is over and whose successors are still to be released.
struct Closing {
  detail::TaskNode* task = nullptr;  ///< Held by the engine's reference.
  TaskState state = TaskState::Done;
  std::exception_ptr error;
};

/// What a thread saw of another's queue when it last looked.
struct Sight {
  std::int64_t progress = 0;
  std::uint64_t nanoseconds = 0;
  bool worth_taking = false;
};

/// What a thread has done in the fast lane since the report was reset; written by the thread, read by any.
struct FastTotals {
  std::atomic<std::uint64_t> period{0};  ///< Number of the period in which it last took up work.
  std::atomic<double> flops{0.0};
  std::atomic<double> busy_seconds{0.0};         ///< From taking up work to finding none.
  std::atomic<double> first_begin_seconds{0.0};  ///< Within that period.
  std::atomic<double> last_end_seconds{0.0};
  std::atomic<double> burst_begin_seconds{-1.0};  ///< Of what it does now; negative: nothing.
};

struct alignas(128) ThreadContext {
  static constexpr std::size_t kCachedCodelets = 64;
  explicit ThreadContext(graph::BlockPool& pool) : blocks(pool) {}

  // The thread's own.
  graph::BlockCache blocks;
  WorkerSlot* slot = nullptr;        ///< Which it occupies now.
  WorkerSlot* last_slot = nullptr;   ///< Which it occupied last.
  std::uint32_t worker = 0;          ///< The number of the slot that it occupied last, within the device.
  detail::TaskNode* task = nullptr;  ///< That it runs.
  /// The task of a light run that it runs; `task` is then made only where somebody asks for it.
  struct LightTaskInHand {
    detail::GraphRun* run = nullptr;
    std::uint32_t task = 0;
  };
  LightTaskInHand light_task;
  detail::GraphRun* light_run = nullptr;  ///< Of which it has come to the end of
  std::int64_t light_done = 0;            ///< so many tasks that it has not reported.
  std::uint32_t pushes = 0;               ///< Tasks that it has made ready while others slept.
  std::uint64_t last_push = 0;            ///< When it last made a task ready while others slept, in ticks.
  std::uint64_t kernel_ticks = 0;         ///< How long the kernels took that it has timed lately,
  std::uint32_t kernels_timed = 0;        ///< and how many these were.
  std::int64_t judged_executed = 0;       ///< As it was when it last judged whether it is in the way,
  std::int64_t judged_submitted = 0;      ///< and what all threads had submitted.
  bool steps_aside = false;  ///< Whether it last gave up its slot so as not to be in the way of who submits,
  Seconds step_aside{};      ///< and for how long.
  std::uint32_t policy_calls = 0;  ///< As it saw them when it last looked for work.
  std::vector<Sight> slot_sights;
  std::vector<Sight> queue_sights;
  std::int32_t submissions_until_check = 0;
  std::int64_t submitted_by_others = 0;  ///< As it was at the last check.
  graph::InferenceScratch inference{blocks, {}};
  std::uint64_t next_id = 1;  ///< Of a block of task numbers that it has reserved
  std::uint64_t last_id = 0;  ///< up to this one.
  std::vector<Closing> closings;
  bool closing = false;  ///< Whether a function further up the stack works through `closings`.
  struct CachedCodelet {
    std::uint64_t serial = 0;
    detail::PreparedCodelet* prepared = nullptr;
  };
  std::array<CachedCodelet, kCachedCodelets> codelets;

  // Written by the thread, read by others.
  alignas(128) Counter submitted;  ///< Tasks and graph runs.
  Counter finished;                ///< Of those, by whomever submitted.
  Counter activated;               ///< Submissions begun, tasks made ready, and entries of light runs queued.
  Counter
      deactivated;  ///< Submissions ended, tasks that are over, and entries of light runs that have been run.
  Counter blocked;  ///< Tasks that wait for others now: active, but not by themselves.
  std::array<Counter, graph::kCountedCodelets> codelet_users;
  Counter executed;                        ///< Fast-lane tasks that it has run.
  std::atomic<bool> uses_accesses{false};  ///< See access_rights.hpp.
  FastTotals totals;

  /// Fast-lane tasks that it has made ready while it occupied no slot; anyone takes from it.
  SubmissionQueue queue;
};

/// The contexts of one engine. Outlives it where threads still hold on to one.
class ThreadContexts : public std::enable_shared_from_this<ThreadContexts> {
 public:
  explicit ThreadContexts(graph::BlockPool& pool);
  ThreadContexts(const ThreadContexts&) = delete;
  ThreadContexts& operator=(const ThreadContexts&) = delete;
  ~ThreadContexts();

  std::uint64_t serial() const noexcept { return serial_; }
  /// The calling thread's.
  ThreadContext& here() {
    Current& current = current_;
    if (current.serial == serial_) return *current.context;
    return find();
  }
  /// The engine goes. The calling thread's free blocks go back to the pool at once, those of others when they end or
  /// use another engine.
  void close() noexcept;

  /// Number of the period since the report was last reset; the first is 1.
  std::atomic<std::uint64_t> period{1};

  std::int64_t sum(Counter ThreadContext::*counter) const noexcept;
  std::int64_t codelet_users(std::uint32_t number) const noexcept;

  /// How many contexts there are, for thieves; they never become fewer.
  std::size_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  ThreadContext& operator[](std::size_t i) const noexcept { return *chunk(i); }

 private:
  struct Current {
    std::uint64_t serial = 0;
    ThreadContext* context = nullptr;
  };
  struct Registrations;
  static constexpr std::size_t kChunk = 64;
  static constexpr std::size_t kChunks = 1024;
  struct Chunk {
    std::array<std::atomic<ThreadContext*>, kChunk> contexts{};
  };

  ThreadContext& find();
  ThreadContext* chunk(std::size_t i) const noexcept {
    return chunks_[i / kChunk]
        .load(std::memory_order_acquire)
        ->contexts[i % kChunk]
        .load(std::memory_order_acquire);
  }

  // Initialised at compile time, and of the model that needs no call: asked for with every submission.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Current current_;
  static thread_local Registrations registrations_;
  /// The thread has destroyed its registrations: what objects of static lifetime still do gets contexts that end with
  /// their engine.
  static constinit thread_local bool gone_;

  graph::BlockPool& pool_;
  const std::uint64_t serial_;
  mutable std::mutex mutex_;            ///< Guards the making of contexts, and the members below.
  std::vector<ThreadContext*> unused_;  ///< Of threads that are gone.
  std::vector<ThreadContext*> late_;    ///< Of threads whose registrations are gone.
  bool closed_ = false;
  std::atomic<std::size_t> count_{0};
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
};

}  // namespace hocket::engine
