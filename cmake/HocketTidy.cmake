# SPDX-License-Identifier: Apache-2.0
# The target `tidy` runs clang-tidy over every source file of the tree; it needs no finished build.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(tidy
    COMMAND bash "${PROJECT_SOURCE_DIR}/cmake/tidy.sh" "${PROJECT_BINARY_DIR}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" USES_TERMINAL VERBATIM)
endif()
