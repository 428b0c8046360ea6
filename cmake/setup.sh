# SPDX-License-Identifier: Apache-2.0
# Set-up shared by tests/run.sh and examples/run.sh; sourced, not run. Gives:
#   step TEXT              prints a step
#   set_up PURPOSE         installs what is missing to build (PURPOSE: program or tests) and makes caches writable
#   configure_and_build PRESET [cmake --build arguments...]
# Works from any folder, as root, through sudo, offline when nothing is missing, and without apt when the tools
# and libraries are there.

hocket_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

step() { printf '\n==> %s\n' "$*"; }
fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Debian package | how to see that it is there without dpkg | use (program, tests) | needed or wanted | what it is
# Probes: command:NAME, module:NAME (pkg-config), file:GLOB.
hocket_packages='
g++|command:c++|program|needed|a C++20 compiler (GCC 12 or Clang 14, or later)
cmake|command:cmake|program|needed|CMake 3.25 or later
ninja-build|command:ninja|program|needed|Ninja
pkg-config|command:pkg-config|program|needed|pkg-config
libhwloc-dev|module:hwloc|program|needed|hwloc 2
libtbb-dev|module:tbb|program|needed|oneTBB
libfmt-dev|module:fmt|program|needed|fmt
libspdlog-dev|module:spdlog|program|needed|spdlog, built with the external fmt
nlohmann-json3-dev|module:nlohmann_json|program|needed|nlohmann-json
libcli11-dev|module:CLI11|program|needed|CLI11
libopenblas-dev|module:openblas|program|needed|OpenBLAS
liblapacke-dev|module:lapacke|program|needed|LAPACKE
opencl-headers|file:/usr/include/CL/cl.h|program|wanted|the OpenCL headers
ocl-icd-opencl-dev|module:OpenCL|program|wanted|the OpenCL loader
pocl-opencl-icd|file:/etc/OpenCL/vendors/*.icd|program|wanted|an OpenCL driver (PoCL runs on the CPU)
libpng-dev|module:libpng|program|wanted|libpng, for PNG pictures in the job image
ccache|command:ccache|tests|wanted|ccache
libgtest-dev|module:gtest|tests|needed|GoogleTest
libbenchmark-dev|module:benchmark|tests|needed|Google Benchmark
clang-format|command:clang-format|tests|wanted|clang-format 14
libstarpu-dev|module:starpu-1.3|tests|wanted|StarPU, which benchmarks compare with
'

# Is the package, or what it would bring, there?
hocket_present() {
  local package=$1 probe=$2 state
  if command -v dpkg-query >/dev/null; then
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
    [ "$state" = installed ] && return 0
  fi
  case $probe in
    command:*) command -v "${probe#command:}" >/dev/null ;;
    module:*) command -v pkg-config >/dev/null && pkg-config --exists "${probe#module:}" ;;
    file:*) compgen -G "${probe#file:}" >/dev/null ;;
  esac
}

# Runs apt-get as root, through sudo where the user is not.
hocket_apt_get() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q "$@"
}

hocket_install_missing() {
  local purpose=$1 package probe use need what
  local needed=() wanted=() descriptions=()
  while IFS='|' read -r package probe use need what; do
    [ -n "$package" ] || continue
    [ "$use" = tests ] && [ "$purpose" != tests ] && continue
    hocket_present "$package" "$probe" && continue
    if [ "$need" = needed ]; then
      needed+=("$package")
      descriptions+=("  $what (Debian: $package)")
    else
      wanted+=("$package")
    fi
  done <<<"$hocket_packages"

  if [ ${#needed[@]} -eq 0 ] && [ ${#wanted[@]} -eq 0 ]; then
    echo "nothing is missing"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    [ ${#wanted[@]} -gt 0 ] && echo "not there, and done without: ${wanted[*]}"
    if [ ${#needed[@]} -gt 0 ]; then
      command -v pkg-config >/dev/null ||
        descriptions+=("Libraries are looked for with pkg-config, which is missing: some may be there already.")
      fail "This system has no apt-get. Install these with its own package manager, then start again:" \
        "${descriptions[@]}"
    fi
    return
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    if [ ${#needed[@]} -gt 0 ]; then
      fail "Root rights are needed, and there is no sudo. As root, run" \
        "  apt-get install ${needed[*]} ${wanted[*]}" "and start again."
    fi
    echo "not there, and done without: ${wanted[*]}"
    return
  fi
  echo "installing: ${needed[*]} ${wanted[*]}"
  hocket_apt_get update || echo "apt-get update failed; trying with the lists at hand" >&2
  if [ ${#needed[@]} -gt 0 ]; then
    hocket_apt_get install -y --no-install-recommends "${needed[@]}" ||
      fail "These could not be installed:" "${descriptions[@]}" "Install them, then start again."
  fi
  if [ ${#wanted[@]} -gt 0 ]; then
    hocket_apt_get install -y --no-install-recommends "${wanted[@]}" ||
      echo "going on without: ${wanted[*]}" >&2
  fi
}

# Caches (compiled OpenCL programs, calibration, ccache) go below build/ when the home folder cannot take them.
hocket_writable_caches() {
  local home=${HOME:-}
  local cache=${XDG_CACHE_HOME:-$home/.cache}
  [ -e "$cache" ] || cache=$home
  if [ -z "$home" ] || ! [ -d "$cache" ] || ! [ -w "$cache" ]; then
    mkdir -p "$hocket_root/build/cache/pocl" "$hocket_root/build/cache/ccache"
    export XDG_CACHE_HOME=$hocket_root/build/cache
    export POCL_CACHE_DIR=$hocket_root/build/cache/pocl
    export CCACHE_DIR=$hocket_root/build/cache/ccache
    echo "the home folder cannot be written; caches are in build/cache"
  fi
}

# Through sudo, what was built belongs to the user who owns the tree, not to root.
hocket_give_back() {
  if [ "$(id -u)" -eq 0 ] && [ -n "${SUDO_UID:-}" ]; then
    local path
    for path in "$hocket_root/build" "$@"; do
      if [ -e "$path" ]; then chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$path"; fi
    done
  fi
}

set_up() {
  step "Set-up"
  hocket_install_missing "$1"
  hocket_writable_caches
  local version
  version=$(cmake --version | sed -n '1s/.* //p')
  if [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -n 1)" != 3.25 ]; then
    fail "CMake $version is too old; 3.25 or later is needed (https://cmake.org/download, or pip install cmake)."
  fi
}

configure_and_build() {
  local preset=$1
  shift
  step "Configure ($preset)"
  (cd "$hocket_root" && cmake --preset "$preset") || return
  step "Build ($preset)"
  (cd "$hocket_root" && cmake --build --preset "$preset" -j "$jobs" "$@")
}
