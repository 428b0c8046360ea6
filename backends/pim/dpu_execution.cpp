// SPDX-License-Identifier: Apache-2.0
#include "pim/dpu_execution.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace hocket::dpu::detail {
namespace {

/// Unwinds a tasklet whose launch has failed elsewhere. Not an Error: programs must not take it for one.
struct LaunchStopped {};

/// Fills fresh WRAM, so that a program that relies on its contents fails in the same way in every run.
constexpr int kUninitialisedByte = 0xA5;

std::string hexadecimal(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), kDigits[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + digits;
}

}  // namespace

void DpuExecution::FreeWram::operator()(std::byte* memory) const noexcept { std::free(memory); }

DpuExecution::DpuExecution(const MramBanks& banks, unsigned tasklets)
    : banks_(banks),
      tasklet_count_(tasklets),
      wram_(static_cast<std::byte*>(std::aligned_alloc(64, kWramBytes))),
      states_(tasklets),
      awaited_mutex_(tasklets),
      work_(tasklets) {
  if (!wram_) throw std::bad_alloc();
}

DpuExecution::~DpuExecution() = default;

DpuWork DpuExecution::run(unsigned dpu, const Program& program) {
  dpu_ = dpu;
  program_ = &program;
  wram_used_ = 0;
  dma_bytes_ = 0;
  barriers_ = 0;
  at_barrier_ = 0;
  error_ = nullptr;
  std::fill(states_.begin(), states_.end(), State::Running);
  std::fill(work_.begin(), work_.end(), TaskletWork{});
  for (Mutex& mutex : mutexes_) {
    mutex.held = false;
    mutex.waiting.clear();
  }
  shared_.clear();

  bool all_ended = fibers_.run(tasklet_count_, [this](unsigned id) { run_tasklet(id); });
  while (!all_ended) {  // a program that swallows LaunchStopped may block again, so more than one round
    if (!error_) error_ = deadlock();
    for (unsigned id = 0; id < tasklet_count_; ++id) {
      if (states_[id] == State::AtBarrier || states_[id] == State::AtMutex) {
        states_[id] = State::Running;
        fibers_.wake(id);
      }
    }
    all_ended = fibers_.run_on();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));

  DpuWork total;
  for (const TaskletWork& work : work_) total.instructions += work.instructions;
  total.cycles = dpu_cycles(work_, barriers_);
  total.dma_bytes = dma_bytes_;
  total.barriers = barriers_;
  return total;
}

void DpuExecution::run_tasklet(unsigned id) {
  current_ = id;
  if (error_) {  // an earlier tasklet failed before this one began
    states_[id] = State::Ended;
    return;
  }
  Tasklet tasklet(*this, id, tasklet_count_, dpu_, banks_.count());
  try {
    (*program_)(tasklet);
    states_[id] = State::Ended;
    if (!error_) check_nothing_left_behind(id);
  } catch (const LaunchStopped&) {
    // the error that stopped it is already known
  } catch (const ProgramError&) {
    fail(std::current_exception());
  } catch (const std::exception& exception) {
    try {
      std::throw_with_nested(LaunchError(where(tasklet) + "the program threw: " + exception.what()));
    } catch (...) {
      fail(std::current_exception());
    }
  } catch (...) {
    try {
      std::throw_with_nested(
          LaunchError(where(tasklet) + "the program threw something that is no std::exception"));
    } catch (...) {
      fail(std::current_exception());
    }
  }
  states_[id] = State::Ended;
  work_[id] = {tasklet.instructions_, tasklet.dma_cycles_};
}

void DpuExecution::check_nothing_left_behind(unsigned id) const {
  for (unsigned mutex = 0; mutex < kMutexes; ++mutex) {
    if (mutexes_[mutex].held && mutexes_[mutex].owner == id) {
      throw SynchronisationError("dpu " + std::to_string(dpu_) + ", tasklet " + std::to_string(id) +
                                 ": ended while it held mutex " + std::to_string(mutex) +
                                 "; unlock it on every path out of the program");
    }
  }
  if (at_barrier_ == 0) return;
  for (unsigned other = 0; other < tasklet_count_; ++other) {
    if (states_[other] == State::AtBarrier) throw_barrier_mismatch(other, id);
  }
}

void DpuExecution::throw_barrier_mismatch(unsigned waiting, unsigned ended) const {
  throw SynchronisationError(
      "dpu " + std::to_string(dpu_) + ": barrier mismatch: tasklet " + std::to_string(waiting) +
      " waits at a barrier that tasklet " + std::to_string(ended) +
      " has ended without reaching; every tasklet must call barrier() the same number of "
      "times, also one that has no work");
}

void DpuExecution::fail(std::exception_ptr error) {
  if (!error_) error_ = std::move(error);
}

std::exception_ptr DpuExecution::deadlock() const {
  std::string message = "dpu " + std::to_string(dpu_) + ": deadlock:";
  for (unsigned id = 0; id < tasklet_count_; ++id) {
    const std::string name = " tasklet " + std::to_string(id);
    if (states_[id] == State::AtBarrier) message += name + " waits at a barrier;";
    if (states_[id] == State::AtMutex) {
      const unsigned mutex = awaited_mutex_[id];
      message += name + " waits for mutex " + std::to_string(mutex) + " held by tasklet " +
                 std::to_string(mutexes_[mutex].owner) + ";";
    }
  }
  message += " take mutexes in one order everywhere and hold none across a barrier";
  return std::make_exception_ptr(SynchronisationError(message));
}

void DpuExecution::stop_if_failed() const {
  if (error_) throw LaunchStopped{};
}

void DpuExecution::suspend(State state, unsigned mutex) {
  const unsigned self = current_;
  states_[self] = state;
  awaited_mutex_[self] = mutex;
  fibers_.suspend();
  current_ = self;
  stop_if_failed();
}

void DpuExecution::barrier(Tasklet& tasklet) {
  stop_if_failed();
  for (unsigned other = 0; other < tasklet_count_; ++other) {
    if (states_[other] == State::Ended) throw_barrier_mismatch(tasklet.id(), other);
  }
  if (++at_barrier_ < tasklet_count_) {
    suspend(State::AtBarrier);
    return;
  }
  at_barrier_ = 0;
  ++barriers_;
  for (unsigned other = 0; other < tasklet_count_; ++other) {
    if (states_[other] == State::AtBarrier) {
      states_[other] = State::Running;
      fibers_.wake(other);
    }
  }
}

void DpuExecution::check_mutex_index(const Tasklet& tasklet, unsigned mutex) const {
  if (mutex >= kMutexes) {
    throw SynchronisationError(where(tasklet) + "there is no mutex " + std::to_string(mutex) +
                               "; a DPU has " + std::to_string(kMutexes) + ", numbered from 0");
  }
}

void DpuExecution::lock(Tasklet& tasklet, unsigned index) {
  stop_if_failed();
  check_mutex_index(tasklet, index);
  tasklet.charge(kMutexInstructions);
  Mutex& mutex = mutexes_[index];
  if (!mutex.held) {
    mutex.held = true;
    mutex.owner = tasklet.id();
    return;
  }
  if (mutex.owner == tasklet.id()) {
    throw SynchronisationError(where(tasklet) + "deadlock: locks mutex " + std::to_string(index) +
                               ", which it already holds; mutexes are not recursive");
  }
  mutex.waiting.push_back(tasklet.id());
  suspend(State::AtMutex, index);  // `unlock` hands the mutex over before it wakes us
}

void DpuExecution::unlock(Tasklet& tasklet, unsigned index) {
  check_mutex_index(tasklet, index);
  Mutex& mutex = mutexes_[index];
  if (!mutex.held || mutex.owner != tasklet.id()) {
    if (error_) return;  // a destructor on the way out of a stopped launch; nothing to protect any more
    throw SynchronisationError(
        where(tasklet) + "unlocks mutex " + std::to_string(index) +
        (mutex.held ? ", which tasklet " + std::to_string(mutex.owner) + " holds" : ", which nobody holds") +
        "; unlock only what this tasklet has locked");
  }
  tasklet.charge(kMutexInstructions);
  if (mutex.waiting.empty() || error_) {
    mutex.held = false;
    return;
  }
  mutex.owner = mutex.waiting.front();
  mutex.waiting.pop_front();
  states_[mutex.owner] = State::Running;
  fibers_.wake(mutex.owner);
}

std::byte* DpuExecution::take_wram(const Tasklet& tasklet, std::size_t count, std::size_t element_bytes,
                                   std::size_t more_bytes) {
  const std::size_t left = kWramBytes - wram_used_;
  // The first condition keeps the product of the second from wrapping around.
  if (count > left / element_bytes || round_up_to_granule(count * element_bytes + more_bytes) > left) {
    std::string wanted = std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes";
    if (more_bytes == 0) {
      wanted += " do not fit";
    } else {
      wanted = "a buffer of " + wanted;
      if (count <= kWramBytes / element_bytes)
        wanted += " (" + std::to_string(round_up_to_granule(count * element_bytes + more_bytes)) +
                  " bytes with alignment)";
      wanted += " does not fit";
    }
    throw WramError(where(tasklet) + "WRAM is exhausted: " + wanted + " in the " + std::to_string(left) +
                    " of " + std::to_string(kWramBytes) + " bytes that the " +
                    std::to_string(tasklet_count_) +
                    " tasklets of this DPU have left; use smaller blocks, or one shared block");
  }
  std::byte* memory = wram_.get() + wram_used_;
  wram_used_ += round_up_to_granule(count * element_bytes + more_bytes);
  return memory;
}

void* DpuExecution::allocate(const Tasklet& tasklet, std::size_t count, std::size_t element_bytes,
                             std::size_t more_bytes) {
  stop_if_failed();
  std::byte* memory = take_wram(tasklet, count, element_bytes, more_bytes);
  std::memset(memory, kUninitialisedByte, round_up_to_granule(count * element_bytes + more_bytes));
  return memory;
}

void* DpuExecution::shared_block(const Tasklet& tasklet, unsigned slot, std::size_t count,
                                 std::size_t element_bytes) {
  stop_if_failed();
  const auto known = shared_.find(slot);
  if (known == shared_.end()) {
    std::byte* memory = take_wram(tasklet, count, element_bytes, 0);
    std::memset(memory, 0, round_up_to_granule(count * element_bytes));
    shared_.emplace(slot, Block{memory, count * element_bytes});
    return memory;
  }
  if (known->second.bytes != count * element_bytes) {
    throw WramError(where(tasklet) + "shared block " + std::to_string(slot) + " has " +
                    std::to_string(known->second.bytes) + " bytes, but this tasklet asks for " +
                    std::to_string(count * element_bytes) +
                    "; all tasklets must ask for the same size, or use "
                    "another slot");
  }
  return known->second.memory;
}

void DpuExecution::dma(Tasklet& tasklet, bool is_read, MramAddress address, const void* wram,
                       std::size_t bytes) {
  stop_if_failed();
  const auto fail_with = [&](const std::string& rule) {
    throw DmaError(where(tasklet) + "DMA " + (is_read ? "read" : "write") + " of " + std::to_string(bytes) +
                   " bytes at MRAM address " + hexadecimal(address) + ": " + rule);
  };
  if (bytes < kDmaGranuleBytes) {
    fail_with(
        "the size must be at least 8 bytes; transfer whole 8-byte granules, or use copy_in, copy_out or a "
        "WramBuffer");
  }
  if (bytes > kDmaMaximumBytes) {
    fail_with(
        "the size must be at most 2048 bytes; transfer in blocks, or use copy_in, copy_out or a WramBuffer");
  }
  if (bytes % kDmaGranuleBytes != 0) {
    fail_with("the size must be a multiple of 8; round it up to " +
              std::to_string(round_up_to_granule(bytes)) + ", or use copy_in, copy_out or a WramBuffer");
  }
  if (address % kDmaGranuleBytes != 0) {
    fail_with("the MRAM address must be a multiple of 8; begin at " +
              hexadecimal(address / kDmaGranuleBytes * kDmaGranuleBytes) + ", or use a WramBuffer");
  }
  if (address > banks_.bytes_each() || bytes > banks_.bytes_each() - address) {
    fail_with("the range must end within the bank's " + std::to_string(banks_.bytes_each()) +
              " bytes; check the index against the extents of the Mram argument");
  }
  // Compared as integers: the pointer may belong to no object of ours.
  const auto pointer = reinterpret_cast<std::uintptr_t>(wram);
  const auto first = reinterpret_cast<std::uintptr_t>(wram_.get());
  if (pointer < first || pointer - first > kWramBytes || bytes > kWramBytes - (pointer - first)) {
    fail_with(
        "the WRAM range must lie in this DPU's WRAM; use memory from wram(), shared() or buffer(), not "
        "variables of the program");
  }
  if (pointer % kDmaGranuleBytes != 0) {
    fail_with("the WRAM address must be a multiple of 8; it is " +
              std::to_string(pointer % kDmaGranuleBytes) + " bytes past one");
  }
  std::byte* mram = banks_.bank(dpu_) + address;
  std::byte* scratchpad = wram_.get() + (pointer - first);
  if (is_read) {
    std::memcpy(scratchpad, mram, bytes);
    tasklet.dma_cycles_ += dma_read_cycles(bytes);
  } else {
    std::memcpy(mram, scratchpad, bytes);
    tasklet.dma_cycles_ += dma_write_cycles(bytes);
  }
  dma_bytes_ += bytes;
}

std::string DpuExecution::where(const Tasklet& tasklet) {
  return "dpu " + std::to_string(tasklet.dpu()) + ", tasklet " + std::to_string(tasklet.id()) + ": ";
}

}  // namespace hocket::dpu::detail
