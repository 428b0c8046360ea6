// SPDX-License-Identifier: Apache-2.0
/// Memory of task nodes: blocks of two cache lines, carved from slabs on huge pages and recycled. A thread allocates
/// and frees through a cache of its own, without a lock and without an atomic operation; caches exchange blocks with
/// the pool a batch at a time.
///
/// A pool outlives its owner (`retire`) until the last block has come back: handles to tasks may outlive their runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/counter.hpp"

namespace hocket::graph {

class BlockPool;

inline constexpr std::size_t kBlockBytes = 128;

/// The free blocks at one thread's hand. Not thread-safe.
class BlockCache {
 public:
  explicit BlockCache(BlockPool& pool) noexcept : pool_(pool) {}
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache() { flush(); }

  /// A block of `kBlockBytes`, aligned to as many. Throws `std::bad_alloc`.
  void* allocate() {
    if (free_ == nullptr) refill();
    Free* const block = free_;
    free_ = block->next;
    --count_;
    unpoison(block);
    return block;
  }
  void free(void* memory) noexcept {
    auto* const block = static_cast<Free*>(memory);
    block->next = free_;
    free_ = block;
    poison(block);
    if (++count_ >= 2 * kBatch) give_batch();
  }
  /// Gives every block back to the pool.
  void flush() noexcept;

  BlockPool& pool() const noexcept { return pool_; }

  static constexpr std::uint32_t kBatch = 256;

 private:
  friend class BlockPool;
  struct Free {
    Free* next;
  };
  void refill();
  void give_batch() noexcept;
  // Under AddressSanitizer a free block may not be touched, but for its link.
  static void poison(Free* block) noexcept;
  static void unpoison(Free* block) noexcept;

  BlockPool& pool_;
  Free* free_ = nullptr;
  std::uint32_t count_ = 0;
};

class BlockPool {
 public:
  /// `owner`: whom `owner()` gives until `retire`. `kept`: lives as long as the pool.
  BlockPool(void* owner, std::shared_ptr<void> kept);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// The pool that a block comes from.
  static BlockPool& of(const void* block) noexcept;
  /// Distinguishes pools, dead ones included.
  std::uint64_t serial() const noexcept { return serial_; }
  void* owner() const noexcept { return owner_.load(std::memory_order_acquire); }
  /// Frees a block without a cache, from any thread.
  void free(void* block) noexcept;
  /// From now on `owner()` gives null.
  void disown() noexcept { owner_.store(nullptr, std::memory_order_release); }
  /// The owner goes: the pool ends with its last block, those in the caches of other threads included.
  void retire() noexcept;

 private:
  friend class BlockCache;
  struct Slab {
    BlockPool* pool;
  };
  static constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  // a huge page

  ~BlockPool();
  BlockCache::Free* take_batch(std::uint32_t& count);
  void give(BlockCache::Free* first, BlockCache::Free* last, std::uint32_t count) noexcept;

  const std::uint64_t serial_;
  std::atomic<void*> owner_;
  const std::shared_ptr<void> kept_;
  std::mutex mutex_;                        ///< Guards the members below.
  std::vector<BlockCache::Free*> batches_;  ///< Chains of `kBatch` free blocks.
  BlockCache::Free* loose_ = nullptr;       ///< Further free blocks.
  std::vector<std::byte*> slabs_;
  std::byte* fresh_ = nullptr;  ///< Of the last slab: what has never been used.
  std::byte* fresh_end_ = nullptr;
  std::uint64_t carved_ = 0;  ///< Blocks ever made.
  std::uint64_t idle_ = 0;    ///< Blocks that lie in the pool.
  bool retired_ = false;
};

/// Codelets with a greater number have their users counted in common.
inline constexpr std::size_t kCountedCodelets = 64;

/// The cache of the calling thread for the pool that it used last; null where there is none. Kept by the engine.
struct CurrentCache {
  std::uint64_t serial = 0;
  BlockCache* cache = nullptr;
  Counter* codelet_users = nullptr;  ///< `kCountedCodelets` of them.
};
CurrentCache& current_cache() noexcept;

/// Frees a block to the calling thread's cache where it has one of the block's pool, else to the pool.
void free_block(void* block) noexcept;

}  // namespace hocket::graph
