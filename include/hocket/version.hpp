// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of the library that the program is linked with, for reports and bug reports. Any thread may
// call; costs nothing; never throws.

#include <string_view>

namespace hocket {

/// "major.minor.patch" as the build set it, with static lifetime.
std::string_view version() noexcept;

}  // namespace hocket
