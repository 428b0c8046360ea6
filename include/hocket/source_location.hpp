// SPDX-License-Identifier: Apache-2.0
/// A place in the user's source. Stands in for std::source_location, which clang 14 does not offer with
/// Debian's standard library. The texts are not copied: they must live as long as the program, as those of `current` do.
#pragma once

#include <cstdint>

namespace hocket {

struct SourceLocation {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;

  /// The place of the call; as a default argument, the place of the call of that function.
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, function, line};
  }
};

}  // namespace hocket
