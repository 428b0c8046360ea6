# SPDX-License-Identifier: Apache-2.0
# Headers, libraries, the program, and how others find them: hocketConfig.cmake and the pkg-config files.
if(NOT HOCKET_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/hocket")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hocket" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(TARGETS hocket hocket_kernels EXPORT hocketTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
set_target_properties(hocket_kernels PROPERTIES INSTALL_RPATH "$ORIGIN")
if(TARGET hocket_cli)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}"
             OUTPUT_VARIABLE lib_from_bin)
  set_target_properties(hocket_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  install(TARGETS hocket_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# --- CMake package --------------------------------------------------------------------------------------------
install(EXPORT hocketTargets NAMESPACE hocket:: DESTINATION "${package_folder}")
get_target_property(hocket_type hocket TYPE)
if(hocket_type STREQUAL "STATIC_LIBRARY")
  set(HOCKET_IS_STATIC 1)
else()
  set(HOCKET_IS_STATIC 0)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/hocketConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/hocketConfig.cmake" INSTALL_DESTINATION "${package_folder}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hocketConfig.cmake" "${PROJECT_BINARY_DIR}/hocketConfigVersion.cmake"
        DESTINATION "${package_folder}")

# --- pkg-config -----------------------------------------------------------------------------------------------
# A shared library names its own dependencies, so users need nothing more. With a static library the users' link
# needs them all, whether or not they ask pkg-config for --static.
set(PC_LIBRARY_REQUIRES "")
set(PC_LIBRARY_LIBS "")
set(PC_KERNELS_REQUIRES "")
if(HOCKET_IS_STATIC)
  set(PC_LIBRARY_REQUIRES "hwloc, tbb, spdlog, fmt")
  set(PC_LIBRARY_LIBS " -pthread")
  if(HOCKET_HAS_OPENCL)
    string(APPEND PC_LIBRARY_REQUIRES ", OpenCL")
  endif()
  set(PC_KERNELS_REQUIRES ", openblas")
  if(NOT HOCKET_OPENBLAS_HAS_LAPACKE)
    set(PC_KERNELS_REQUIRES ", lapacke, openblas")
  endif()
endif()
# Folders are relative to the .pc file, so that the installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
           BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE PC_PREFIX)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
           BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE PC_LIBDIR)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR
           BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE PC_INCLUDEDIR)
foreach(name IN ITEMS hocket hocket-kernels)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()
