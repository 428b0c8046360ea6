// SPDX-License-Identifier: Apache-2.0
#include "graph/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define HOCKET_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOCKET_POISONS 1
#endif
#endif
#ifdef HOCKET_POISONS
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace hocket::graph {
namespace {

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::tls_model("initial-exec")]] constinit thread_local CurrentCache current;

/// Memory of that size, a power of two, aligned to as much; null where there is none. Straight from the system: `malloc`
/// would keep as much again for the alignment.
std::byte* map_aligned(std::size_t bytes) noexcept {
  const auto map = [](std::size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  };
  std::byte* const lucky = map(bytes);
  if (lucky == nullptr || reinterpret_cast<std::uintptr_t>(lucky) % bytes == 0) return lucky;
  munmap(lucky, bytes);
  std::byte* const memory = map(2 * bytes);
  if (memory == nullptr) return nullptr;
  const std::size_t before = (bytes - reinterpret_cast<std::uintptr_t>(memory) % bytes) % bytes;
  if (before != 0) munmap(memory, before);
  if (before != bytes) munmap(memory + before + bytes, bytes - before);
  return memory + before;
}

}  // namespace

CurrentCache& current_cache() noexcept { return current; }

void free_block(void* block) noexcept {
  BlockPool& pool = BlockPool::of(block);
  if (current.serial == pool.serial())
    current.cache->free(block);
  else
    pool.free(block);
}

// ---- the cache of a thread -------------------------------------------------------------------------------------

void BlockCache::poison([[maybe_unused]] Free* block) noexcept {
#ifdef HOCKET_POISONS
  __asan_poison_memory_region(block + 1, kBlockBytes - sizeof(Free));
#endif
}

void BlockCache::unpoison([[maybe_unused]] Free* block) noexcept {
#ifdef HOCKET_POISONS
  __asan_unpoison_memory_region(block, kBlockBytes);
#endif
}

void BlockCache::refill() { free_ = pool_.take_batch(count_); }

void BlockCache::give_batch() noexcept {
  Free* const first = free_;
  Free* last = first;
  for (std::uint32_t i = 1; i < kBatch; ++i) last = last->next;
  free_ = last->next;
  count_ -= kBatch;
  pool_.give(first, last, kBatch);
}

void BlockCache::flush() noexcept {
  while (count_ >= kBatch) give_batch();
  if (free_ == nullptr) return;
  Free* last = free_;
  while (last->next != nullptr) last = last->next;
  pool_.give(free_, last, count_);
  free_ = nullptr;
  count_ = 0;
}

// ---- the pool ----------------------------------------------------------------------------------------------------

BlockPool::BlockPool(void* owner, std::shared_ptr<void> kept)
    : serial_(next_serial()), owner_(owner), kept_(std::move(kept)) {}

BlockPool::~BlockPool() {
  for (std::byte* slab : slabs_) {
#ifdef HOCKET_POISONS
    __asan_unpoison_memory_region(slab, kSlabBytes);
    __lsan_unregister_root_region(slab, kSlabBytes);
#endif
    munmap(slab, kSlabBytes);
  }
}

BlockPool& BlockPool::of(const void* block) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block) & ~(kSlabBytes - 1);
  return *reinterpret_cast<const Slab*>(address)->pool;  // NOLINT(performance-no-int-to-ptr)
}

BlockCache::Free* BlockPool::take_batch(std::uint32_t& count) {
  const std::lock_guard lock(mutex_);
  if (!batches_.empty()) {
    BlockCache::Free* const first = batches_.back();
    batches_.pop_back();
    idle_ -= BlockCache::kBatch;
    count = BlockCache::kBatch;
    return first;
  }
  if (loose_ != nullptr) {
    BlockCache::Free* const first = loose_;
    BlockCache::Free* last = first;
    count = 1;
    while (count < BlockCache::kBatch && last->next != nullptr) {
      last = last->next;
      ++count;
    }
    loose_ = last->next;
    last->next = nullptr;
    idle_ -= count;
    return first;
  }
  if (fresh_ == fresh_end_) {
    std::byte* const slab = map_aligned(kSlabBytes);
    if (slab == nullptr) throw std::bad_alloc();
    try {
      slabs_.push_back(slab);
      batches_.reserve(slabs_.size() * (kSlabBytes / kBlockBytes / BlockCache::kBatch + 1));
    } catch (...) {
      if (!slabs_.empty() && slabs_.back() == slab) slabs_.pop_back();
      munmap(slab, kSlabBytes);
      throw;
    }
#ifdef HOCKET_POISONS
    __lsan_register_root_region(slab, kSlabBytes);  // nodes refer to blocks of the heap
#endif
    madvise(slab, kSlabBytes, MADV_HUGEPAGE);  // a wish: small pages do as well, only slower at first touch
    ::new (slab) Slab{this};
    fresh_ = slab + kBlockBytes;
    fresh_end_ = slab + kSlabBytes;
  }
  // In order of address: neighbours in the list are neighbours in memory.
  const auto available = static_cast<std::uint32_t>((fresh_end_ - fresh_) / kBlockBytes);
  count = std::min(available, BlockCache::kBatch);
  carved_ += count;
  auto* const first = ::new (fresh_) BlockCache::Free{nullptr};
  BlockCache::Free* last = first;
  for (std::uint32_t i = 1; i < count; ++i) {
    last->next = ::new (fresh_ + i * kBlockBytes) BlockCache::Free{nullptr};
    last = last->next;
  }
  fresh_ += count * kBlockBytes;
  for (BlockCache::Free* block = first; block != nullptr; block = block->next) BlockCache::poison(block);
  return first;
}

void BlockPool::give(BlockCache::Free* first, BlockCache::Free* last, std::uint32_t count) noexcept {
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    if (count == BlockCache::kBatch && batches_.size() < batches_.capacity()) {
      last->next = nullptr;
      batches_.push_back(first);  // room was reserved with the slabs
    } else {
      last->next = loose_;
      loose_ = first;
    }
    idle_ += count;
    ends = retired_ && idle_ == carved_;
  }
  if (ends) delete this;
}

void BlockPool::free(void* memory) noexcept {
  auto* const block = ::new (memory) BlockCache::Free{nullptr};
  BlockCache::poison(block);
  give(block, block, 1);
}

void BlockPool::retire() noexcept {
  disown();
  bool ends = false;
  {
    const std::lock_guard lock(mutex_);
    retired_ = true;
    ends = idle_ == carved_;
  }
  if (ends) delete this;
}

}  // namespace hocket::graph
