# SPDX-License-Identifier: Apache-2.0
# What can be chosen when configuring: the backends, the parts to build, warnings as errors.

# Declares HOCKET_WITH_<name> = AUTO | ON | OFF. AUTO takes the backend when its libraries are found; ON insists.
function(hocket_backend_option name description)
  set(HOCKET_WITH_${name} AUTO CACHE STRING "${description}: AUTO, ON or OFF")
  set_property(CACHE HOCKET_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${HOCKET_WITH_${name}}" value)
  if(NOT value MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR
      "HOCKET_WITH_${name} is \"${HOCKET_WITH_${name}}\". It must be AUTO, ON or OFF.")
  endif()
  set(HOCKET_WITH_${name} "${value}" PARENT_SCOPE)
endfunction()

hocket_backend_option(OPENCL "Devices through OpenCL")
hocket_backend_option(CUDA "NVIDIA GPUs through CUDA")
hocket_backend_option(XRT "AMD/Xilinx FPGAs and NPUs through XRT")
hocket_backend_option(PIM "The emulated processing-in-memory device")

option(HOCKET_BUILD_CLI "Build the hocket program" ${PROJECT_IS_TOP_LEVEL})
option(HOCKET_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(HOCKET_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(HOCKET_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(HOCKET_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
option(HOCKET_WERROR "Treat warnings as errors" OFF)

if(PROJECT_IS_TOP_LEVEL)
  get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  # The tests share a precompiled header; ccache caches users of one only when told that this is intended.
  find_program(HOCKET_CCACHE ccache)
  if(HOCKET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        "CCACHE_SLOPPINESS=pch_defines,time_macros" "${HOCKET_CCACHE}")
  endif()
endif()

# Sanitized builds leave out what only repeats the plain build: installing, the house rules, compile errors.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(HOCKET_SANITIZED ON)
else()
  set(HOCKET_SANITIZED OFF)
endif()
