#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the program, and runs the main job: the forecast of the CO2 record.
#   bash examples/run.sh [--out FOLDER] [arguments for `hocket run co2`...]
set -euo pipefail
out=hocket-out
if [ "${1:-}" = --out ]; then
  [ $# -ge 2 ] || { echo "examples/run.sh: --out needs a folder" >&2; exit 2; }
  out=$2
  shift 2
elif [ "${1:-}" = --help ]; then
  sed -n '3,4s/^# //p' "${BASH_SOURCE[0]}"
  exit 0
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

# shellcheck source=cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
trap 'hocket_give_back "$out"' EXIT
set_up program
configure_and_build program --target hocket_cli

step "Run: hocket run co2"
"$hocket_root/build/program/hocket" run co2 --out "$out" "$@"

step "Done"
echo "result and trace: $out/co2.html"
echo "picture:          $out/co2.svg"
for file in co2.html co2.svg; do
  [ -s "$out/$file" ] || fail "$out/$file was not written"
done
