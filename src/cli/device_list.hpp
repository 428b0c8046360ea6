// SPDX-License-Identifier: Apache-2.0
/// The devices of this machine, found without running anything on them, and how they are told to people and
/// to programs.
#pragma once

#include <hocket/runtime.hpp>
#include <optional>
#include <string>
#include <vector>

#include "peak.hpp"

namespace hocket::cli {

/// A kind of device that was looked for in vain.
struct NothingFound {
  std::string kind;  ///< Empty: of any kind.
  std::string why;
};

struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::vector<NothingFound> missing;
  std::optional<jobs::Peak> cpu_peak;  ///< Where there is a CPU device.
};

/// The devices of a specification; for an empty one every device that there is, those used on request only as
/// well. Measures the CPU's peak. Throws what `Runtime` throws for the specification.
DeviceList find_devices(const std::string& specification);

std::string describe(const DeviceList& list);  ///< A table and notes.
std::string to_json(const DeviceList& list);   ///< One object, on one line.

}  // namespace hocket::cli
