// SPDX-License-Identifier: Apache-2.0
#include "trace/escape.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace hocket::trace {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the well-formed UTF-8 sequence at the start of `text`; 0 where there is none (Unicode 15, table
// 3-7).
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low =
      0x80;  // the limits of the second byte keep out overlong forms, surrogates and too large ones
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return length;
}

// Calls `character` with each well-formed character of the text, and with the replacement for what is none.
template <class Function>
void for_each_character(std::string_view text, Function&& character) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    character(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

bool is_control(std::string_view character) noexcept {
  return character.size() == 1 && static_cast<unsigned char>(character[0]) < 0x20;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for_each_character(text, [&](std::string_view c) {
    if (c == "&")
      escaped += "&amp;";
    else if (c == "<")
      escaped += "&lt;";
    else if (c == ">")
      escaped += "&gt;";
    else if (c == "\"")
      escaped += "&quot;";
    else if (c == "'")
      escaped += "&#39;";
    else if ((is_control(c) && c != "\t" && c != "\n") || c == "\xEF\xBF\xBE" || c == "\xEF\xBF\xBF")
      escaped += kReplacement;
    else
      escaped += c;
  });
  return escaped;
}

std::string json_string(std::string_view text) {
  std::string escaped = "\"";
  escaped.reserve(text.size() + 2);
  for_each_character(text, [&](std::string_view c) {
    if (c == "\"" || c == "\\")
      escaped.append("\\").append(c);
    else if (is_control(c) || c == "\x7F")
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c[0])));
    else
      escaped += c;
  });
  return escaped += '"';
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted += '"';
}

}  // namespace hocket::trace
