# SPDX-License-Identifier: Apache-2.0
# Puts a text file into a program. Used in two ways: included, it defines hocket_embed_text(); run as a script
# (cmake -P, at build time) it writes the source file.

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ "${INPUT}" bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  # 20 characters a line; each takes 7 columns.
  string(REPEAT "." 140 line)
  string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
  cmake_path(GET INPUT FILENAME name)
  file(WRITE "${OUTPUT}" "// Generated from ${name}; changes here are lost.
#include \"${HEADER}\"

#include <string_view>

namespace ${NAMESPACE} {
namespace {
constexpr char kText[] = {
    ${bytes}'\\0'};
}  // namespace
std::string_view ${FUNCTION}() { return {kText, ${size}}; }
}  // namespace ${NAMESPACE}
")
  return()
endif()

set(HOCKET_EMBED_TEXT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

# hocket_embed_text(<target> FILE <text file> HEADER <header that declares it> NAMESPACE <ns> FUNCTION <name>)
# defines `std::string_view <ns>::<name>()` in <target>: the bytes of the file, unchanged.
function(hocket_embed_text target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;HEADER;NAMESPACE;FUNCTION" "")
  cmake_path(ABSOLUTE_PATH arg_FILE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${arg_FUNCTION}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${arg_FILE}" "-DOUTPUT=${output}" "-DHEADER=${arg_HEADER}"
            "-DNAMESPACE=${arg_NAMESPACE}" "-DFUNCTION=${arg_FUNCTION}" -P "${HOCKET_EMBED_TEXT_SCRIPT}"
    DEPENDS "${arg_FILE}" "${HOCKET_EMBED_TEXT_SCRIPT}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
