#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One step of the installation test; tests/install/CMakeLists.txt lists the steps and sets the environment:
# HOCKET_BUILD, HOCKET_SOURCE, HOCKET_LIBDIR, CXX, CMAKE.
set -euo pipefail
here=$HOCKET_SOURCE/tests/install
work=$HOCKET_BUILD/tests/installed
prefix=$work/prefix

# Builds a CMake project against the tree installed in $2 and puts it into $work/$3.
build_project() {
  rm -rf "${work:?}/$3"
  "$CMAKE" -S "$1" -B "$work/$3" -G Ninja -DCMAKE_PREFIX_PATH="$2" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_BUILD_TYPE=Release
  "$CMAKE" --build "$work/$3" -j 2
}

# Builds the consumer with pkg-config and nothing else against the tree installed in $1, and runs it.
consume_with_pkg_config() {
  export PKG_CONFIG_PATH="$1/$HOCKET_LIBDIR/pkgconfig"
  mkdir -p "$work/$2"
  # shellcheck disable=SC2046  # the flags are separate words
  "$CXX" -std=c++20 -O2 $(pkg-config --cflags hocket hocket-kernels) "$here/consumer/main.cpp" \
    $(pkg-config --libs hocket-kernels hocket) -o "$work/$2/consumer"
  LD_LIBRARY_PATH="$1/$HOCKET_LIBDIR" "$work/$2/consumer"
}

case $1 in
  tree)
    rm -rf "$work"
    mkdir -p "$work"
    "$CMAKE" --install "$HOCKET_BUILD" --prefix "$prefix"
    test -f "$prefix/include/hocket/hocket.hpp"
    test -f "$prefix/$HOCKET_LIBDIR/cmake/hocket/hocketConfig.cmake"
    ;;
  cmake_consumer)
    build_project "$here/consumer" "$prefix" cmake_consumer
    "$work/cmake_consumer/consumer"
    ;;
  pkg_config_consumer)
    consume_with_pkg_config "$prefix" pkg_config_consumer
    ;;
  program)
    if [ ! -x "$HOCKET_BUILD/hocket" ]; then
      echo "Skipped: the program hocket is not part of this build"
      exit 77
    fi
    "$prefix/bin/hocket" --help
    ;;
  moved_tree)
    # What was installed must not remember where.
    rm -rf "$work/moved"
    cp -a "$prefix" "$work/moved"
    if grep -rIlF "$prefix" "$work/moved"; then
      echo "the files above name the folder that they were installed to" >&2
      exit 1
    fi
    consume_with_pkg_config "$work/moved" moved_consumer
    ;;
  toy_backend)
    build_project "$HOCKET_SOURCE/examples/toy_backend" "$prefix" toy_backend
    ran=0
    for program in "$work"/toy_backend/*; do
      if [ -f "$program" ] && [ -x "$program" ]; then
        "$program"
        ran=1
      fi
    done
    [ $ran = 1 ] || { echo "toy_backend built no program" >&2; exit 1; }
    ;;
  *)
    echo "step.sh: no step named $1" >&2
    exit 1
    ;;
esac
