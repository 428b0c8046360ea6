#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over the sources of the tree, two at a time.
#   bash cmake/tidy.sh [BUILD_FOLDER] [FILE...]
# BUILD_FOLDER (default build/release) is a configured build; without FILEs all sources that it compiles are read.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:-$root/build/release}
[ $# -gt 0 ] && shift
database=$build/compile_commands.json
command -v clang-tidy >/dev/null || { echo "tidy: clang-tidy is missing (apt-get install clang-tidy)" >&2; exit 1; }
[ -f "$database" ] || { echo "tidy: $database is missing; configure first: cmake --preset release" >&2; exit 1; }

# clang-tidy reads the headers themselves: GCC's precompiled header and options that only GCC knows are taken out.
clean=$build/tidy
mkdir -p "$clean"
sed -E 's/ -include [^ ]*cmake_pch\.hxx//g; s/ -fpch-preprocess//g; s/ -Winvalid-pch//g' \
  "$database" >"$clean/compile_commands.json"

if [ $# -eq 0 ]; then
  mapfile -t files < <(sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$database" | grep -F "$root/" | grep -vF "$build/" | sort -u)
else
  files=("$@")
fi
echo "tidy: ${#files[@]} files"
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 \
  clang-tidy -p "$clean" --quiet --extra-arg=-Wno-unknown-warning-option
echo "tidy: no findings"
