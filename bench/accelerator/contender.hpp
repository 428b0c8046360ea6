// SPDX-License-Identifier: Apache-2.0
/// The ways of launching many tiny kernels on an accelerator that are compared. Each has its own buffers, which lie
/// on the device before the clock starts, and counts in them how often each was used, so that nothing can be left
/// out unseen.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace hocket::bench::accelerator {

/// What a launch uses: a chain works on one buffer, independent launches each on one of their own.
enum class Pattern { Chain, Independent };

/// Elements of a buffer; a kernel adds 1 to each.
constexpr std::size_t kElements = 64;

/// The kernel, the same text for all: one work item for each element.
constexpr const char* kKernelName = "touch";
constexpr const char* kKernelSource = R"(
__kernel void touch(__global int* x, ulong n) {
  const size_t i = get_global_id(0);
  if (i < n) x[i] += 1;
}
)";

class Contender {
 public:
  Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;
  virtual ~Contender() = default;

  /// Launches all kernels once and waits for the last one. Throws where the device fails.
  virtual void run() = 0;
  /// What the first element of buffer i holds; buffers begin with 0.
  virtual int value(std::size_t i) = 0;
};

/// On a runtime: submitted anew in each run, or recorded once. `kind` is "opencl" or "pim".
std::unique_ptr<Contender> make_hocket(const std::string& kind, Pattern pattern, std::size_t tasks,
                                       bool replay);
/// On a device of the backend seam, without the engine: everything is queued in its launch lane.
std::unique_ptr<Contender> make_device(const std::string& kind, Pattern pattern, std::size_t tasks);
/// On plain OpenCL: one in-order queue, no events, arguments set only where they change.
std::unique_ptr<Contender> make_plain_opencl(Pattern pattern, std::size_t tasks);

}  // namespace hocket::bench::accelerator
