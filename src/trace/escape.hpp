// SPDX-License-Identifier: Apache-2.0
/// Names as they may appear inside other formats. Names come from users and may hold anything: quotes,
/// mark-up, control characters, bytes that are not UTF-8. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace hocket::trace {

/// For the content of an element or a quoted attribute of HTML and XML. Characters that XML cannot hold
/// become U+FFFD, as do bytes that are not UTF-8.
std::string escape_markup(std::string_view text);

/// A JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// One field of a CSV record as RFC 4180 has it: quoted where it holds a comma, a quote or a line break.
/// Other bytes stay as they are.
std::string csv_field(std::string_view text);

}  // namespace hocket::trace
