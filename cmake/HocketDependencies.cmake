# SPDX-License-Identifier: Apache-2.0
# Finds the libraries and fills the summary table. What is missing and required is collected, so that one error
# names every package to install. Imported pkg-config targets carry the prefix HOCKET_ so that they cannot
# clash with targets of a project that includes or imports this one.

set(HOCKET_SUMMARY "")          # rows "part|state|detail"
set(HOCKET_MISSING "")          # rows "part|Debian package"

macro(hocket_summary_row part state detail)
  list(APPEND HOCKET_SUMMARY "${part}|${state}|${detail}")
endmacro()

# Notes whether a required library was found.
macro(hocket_required part found detail package)
  if(${found})
    hocket_summary_row("${part}" "found" "${detail}")
  else()
    hocket_summary_row("${part}" "MISSING" "apt-get install ${package}")
    list(APPEND HOCKET_MISSING "${part}|${package}")
  endif()
endmacro()

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  message(FATAL_ERROR "pkg-config was not found; it finds hwloc and OpenBLAS. On Debian: apt-get install pkg-config")
endif()

# --- the core -------------------------------------------------------------------------------------------------
find_package(Threads REQUIRED)
pkg_check_modules(HOCKET_HWLOC QUIET IMPORTED_TARGET hwloc>=2.0)
hocket_required("hwloc" HOCKET_HWLOC_FOUND "${HOCKET_HWLOC_VERSION}" libhwloc-dev)
find_package(TBB CONFIG QUIET)
hocket_required("oneTBB" TBB_FOUND "${TBB_VERSION}" libtbb-dev)
find_package(fmt CONFIG QUIET)
hocket_required("fmt" fmt_FOUND "${fmt_VERSION}" libfmt-dev)
find_package(spdlog CONFIG QUIET)
hocket_required("spdlog" spdlog_FOUND "${spdlog_VERSION}" libspdlog-dev)
find_package(nlohmann_json CONFIG QUIET)
hocket_required("nlohmann-json" nlohmann_json_FOUND "${nlohmann_json_VERSION}" nlohmann-json3-dev)
if(spdlog_FOUND)
  get_target_property(spdlog_definitions spdlog::spdlog INTERFACE_COMPILE_DEFINITIONS)
  if(NOT spdlog_definitions MATCHES "SPDLOG_FMT_EXTERNAL")
    message(FATAL_ERROR "spdlog ${spdlog_VERSION} carries its own copy of fmt, which clashes with the fmt library. "
                        "Build spdlog with SPDLOG_FMT_EXTERNAL=ON, or use Debian's libspdlog-dev.")
  endif()
endif()

# --- the bundled kernels: OpenBLAS, and LAPACKE from OpenBLAS itself or (Debian) from liblapacke ---------------
pkg_check_modules(HOCKET_OPENBLAS QUIET IMPORTED_TARGET openblas)
hocket_required("OpenBLAS" HOCKET_OPENBLAS_FOUND "${HOCKET_OPENBLAS_VERSION}" libopenblas-dev)
if(HOCKET_OPENBLAS_FOUND)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES PkgConfig::HOCKET_OPENBLAS)
  check_cxx_source_compiles("#include <lapacke.h>
    int main() { double a = 1; return LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', 1, &a, 1); }"
    HOCKET_OPENBLAS_HAS_LAPACKE)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(HOCKET_OPENBLAS_HAS_LAPACKE)
  hocket_summary_row("LAPACKE" "found" "in OpenBLAS")
else()
  pkg_check_modules(HOCKET_LAPACKE QUIET IMPORTED_TARGET lapacke)
  hocket_required("LAPACKE" HOCKET_LAPACKE_FOUND "${HOCKET_LAPACKE_VERSION}" liblapacke-dev)
endif()
# What to link for BLAS and LAPACK. LAPACKE comes first: it calls the LAPACK routines of OpenBLAS.
set(HOCKET_BLAS PkgConfig::HOCKET_OPENBLAS)
if(NOT HOCKET_OPENBLAS_HAS_LAPACKE)
  list(PREPEND HOCKET_BLAS PkgConfig::HOCKET_LAPACKE)
endif()

# --- programs, tests, benchmarks ------------------------------------------------------------------------------
if(HOCKET_BUILD_CLI OR HOCKET_BUILD_EXAMPLES OR HOCKET_BUILD_TESTS)
  find_package(CLI11 CONFIG QUIET)
  hocket_required("CLI11" CLI11_FOUND "${CLI11_VERSION}" libcli11-dev)
endif()
if(HOCKET_BUILD_TESTS)
  find_package(GTest CONFIG QUIET)
  hocket_required("GoogleTest" GTest_FOUND "${GTest_VERSION}" libgtest-dev)
endif()
if(HOCKET_BUILD_BENCH)
  find_package(benchmark CONFIG QUIET)
  hocket_required("Google Benchmark" benchmark_FOUND "${benchmark_VERSION}" libbenchmark-dev)
endif()

# --- backends -------------------------------------------------------------------------------------------------
hocket_summary_row("backend cpu" "on" "always")

set(HOCKET_HAS_OPENCL 0)
if(HOCKET_WITH_OPENCL STREQUAL "OFF")
  hocket_summary_row("backend opencl" "off" "HOCKET_WITH_OPENCL=OFF")
else()
  find_package(OpenCL QUIET)
  if(OpenCL_FOUND)
    set(HOCKET_HAS_OPENCL 1)
    hocket_summary_row("backend opencl" "on" "OpenCL ${OpenCL_VERSION_STRING}, ${OpenCL_LIBRARIES}")
  elseif(HOCKET_WITH_OPENCL STREQUAL "ON")
    list(APPEND HOCKET_MISSING "OpenCL (HOCKET_WITH_OPENCL=ON)|opencl-headers ocl-icd-opencl-dev")
    hocket_summary_row("backend opencl" "MISSING" "apt-get install opencl-headers ocl-icd-opencl-dev")
  else()
    hocket_summary_row("backend opencl" "off"
      "OpenCL not found (apt-get install opencl-headers ocl-icd-opencl-dev pocl-opencl-icd)")
  endif()
endif()

foreach(name IN ITEMS CUDA XRT)
  string(TOLOWER ${name} lower)
  if(HOCKET_WITH_${name} STREQUAL "ON")
    message(FATAL_ERROR "HOCKET_WITH_${name}=ON, but the ${lower} backend is not part of this version (${PROJECT_VERSION}). "
                        "Use AUTO or OFF.")
  elseif(HOCKET_WITH_${name} STREQUAL "OFF")
    hocket_summary_row("backend ${lower}" "off" "HOCKET_WITH_${name}=OFF")
  else()
    hocket_summary_row("backend ${lower}" "off" "not part of this version")
  endif()
endforeach()

if(HOCKET_WITH_PIM STREQUAL "OFF")
  set(HOCKET_HAS_PIM 0)
  hocket_summary_row("backend pim" "off" "HOCKET_WITH_PIM=OFF")
else()
  set(HOCKET_HAS_PIM 1)
  hocket_summary_row("backend pim" "on" "emulated, needs no library")
endif()

if(HOCKET_MISSING)
  set(packages "")
  set(lines "")
  foreach(row IN LISTS HOCKET_MISSING)
    string(REPLACE "|" ";" cells "${row}")
    list(GET cells 0 part)
    list(GET cells 1 package)
    string(APPEND lines "\n  ${part}: Debian package ${package}")
    string(APPEND packages " ${package}")
  endforeach()
  message(FATAL_ERROR "Required libraries are missing:${lines}\nInstall them with\n  apt-get install${packages}\n")
endif()
