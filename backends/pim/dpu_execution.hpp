// SPDX-License-Identifier: Apache-2.0
/// One emulated DPU at work: runs all tasklets of one program, gives them WRAM, DMA, barriers and mutexes,
/// enforces the device's rules and counts what they did. An object is reused for DPU after DPU and launch
/// after launch; it is used by one thread at a time and borrows the banks.
///
/// Rules are enforced where the hardware would hang or corrupt data in silence: every violation is a typed
/// exception (see <hocket/dpu.hpp>) that stops the other tasklets, unwinds them and leaves `run`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <hocket/dpu.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pim/cycle_model.hpp"
#include "pim/fiber.hpp"
#include "pim/mram_banks.hpp"

namespace hocket::dpu {

using Program = std::function<void(Tasklet&)>;

/// What one DPU did in one launch.
struct DpuWork {
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;
  std::uint64_t dma_bytes = 0;
  std::uint64_t barriers = 0;
};

namespace detail {

class DpuExecution {
 public:
  /// `tasklets`: 1 to 24, checked by the caller.
  DpuExecution(const MramBanks& banks, unsigned tasklets);
  ~DpuExecution();
  DpuExecution(const DpuExecution&) = delete;
  DpuExecution& operator=(const DpuExecution&) = delete;

  /// Runs the program on DPU `dpu` to its end. Throws what the first failing tasklet threw: errors of the
  /// device as they are, anything else nested in a LaunchError.
  DpuWork run(unsigned dpu, const Program& program);

  // What tasklets call, through Tasklet.
  void barrier(Tasklet& tasklet);
  void lock(Tasklet& tasklet, unsigned mutex);
  void unlock(Tasklet& tasklet, unsigned mutex);
  void* allocate(const Tasklet& tasklet, std::size_t count, std::size_t element_bytes,
                 std::size_t more_bytes);
  void* shared_block(const Tasklet& tasklet, unsigned slot, std::size_t count, std::size_t element_bytes);
  void dma(Tasklet& tasklet, bool is_read, MramAddress address, const void* wram, std::size_t bytes);

  /// "dpu 3, tasklet 5: "
  static std::string where(const Tasklet& tasklet);

 private:
  struct Mutex {
    bool held = false;
    unsigned owner = 0;
    std::deque<unsigned> waiting;
  };
  struct Block {
    std::byte* memory;
    std::size_t bytes;
  };
  enum class State : std::uint8_t { Running, AtBarrier, AtMutex, Ended };

  void run_tasklet(unsigned id);
  void check_mutex_index(const Tasklet& tasklet, unsigned mutex) const;
  void check_nothing_left_behind(unsigned id) const;
  [[noreturn]] void throw_barrier_mismatch(unsigned waiting, unsigned ended) const;
  void fail(std::exception_ptr error);
  std::exception_ptr deadlock() const;
  void suspend(State state, unsigned mutex = 0);
  void stop_if_failed() const;
  std::byte* take_wram(const Tasklet& tasklet, std::size_t count, std::size_t element_bytes,
                       std::size_t more_bytes);

  const MramBanks& banks_;
  unsigned tasklet_count_;
  FiberGroup fibers_;
  struct FreeWram {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, FreeWram> wram_;

  // State of the current run.
  unsigned dpu_ = 0;
  const Program* program_ = nullptr;
  std::size_t wram_used_ = 0;
  std::uint64_t dma_bytes_ = 0;
  std::uint64_t barriers_ = 0;
  unsigned at_barrier_ = 0;
  unsigned current_ = 0;  // id of the tasklet that runs
  std::exception_ptr error_;
  std::vector<State> states_;
  std::vector<unsigned> awaited_mutex_;
  std::vector<TaskletWork> work_;
  std::array<Mutex, kMutexes> mutexes_;
  std::map<unsigned, Block> shared_;
};

}  // namespace detail
}  // namespace hocket::dpu
