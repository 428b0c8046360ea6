#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what it costs to include <hocket/hocket.hpp>: the CPU time (user and system) of the compiler for an empty
# file, for the standard headers that Hocket's include, and for Hocket; the median of interleaved runs.
#   bash tests/house/compile_cost.sh [ROUNDS]      default: 9; CXX names the compiler, default g++
set -euo pipefail
rounds=${1:-9}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "compile_cost.sh: '$rounds' is no number of rounds" >&2; exit 2; }
compiler=${CXX:-g++}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

: >"$folder/empty.cpp"
grep -rhoE '^#include <[a-z_]+>' "$root"/include/hocket | sort -u >"$folder/standard.cpp"
echo '#include <hocket/hocket.hpp>' >"$folder/hocket.cpp"

# Prints the CPU seconds of a command.
cpu_seconds() {
  local TIMEFORMAT='%U %S' spent
  spent=$({ time "$@" >&2; } 2>&1) || { echo "$spent" >&2; return 1; }
  awk '{ printf "%.3f\n", $1 + $2 }' <<<"$spent"
}

printf '%s, %s rounds, CPU seconds (median)\n' "$("$compiler" --version | head -n 1)" "$rounds"
printf '%-16s %8s %10s %8s %22s\n' options empty standard hocket 'hocket beyond empty'
for mode in -fsyntax-only '-O2 -c'; do
  rm -f "$folder"/*.times
  for ((round = 0; round < rounds; ++round)); do
    for source in empty standard hocket; do
      # shellcheck disable=SC2086  # the mode is several words
      cpu_seconds "$compiler" -std=c++20 $mode -I"$root/include" "$folder/$source.cpp" -o "$folder/object.o" \
        >>"$folder/$source.times"
    done
  done
  medians=()
  for source in empty standard hocket; do
    medians+=("$(sort -n "$folder/$source.times" | sed -n "$((rounds / 2 + 1))p")")
  done
  printf '%-16s %8.2f %10.2f %8.2f %22.2f\n' "$mode" "${medians[@]}" \
    "$(awk -v a="${medians[2]}" -v b="${medians[0]}" 'BEGIN { print a - b }')"
done
