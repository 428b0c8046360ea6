#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a benchmark suite; builds what it needs first.
#   bash bench/run.sh SUITE [options...]
#   bash bench/run.sh SUITE --help
set -euo pipefail
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=${1:-}
[ $# -gt 0 ] && shift

case $suite in
  engine | dense | accelerator | idle)
    exec python3 "$bench/$suite/run.py" "$@"
    ;;
  '' | help | --help)
    cat <<'TEXT'
bash bench/run.sh SUITE [options...]; with --help, what the options of a suite are

  engine       what a task costs beside its work: Hocket and other runtimes in turns
  dense        tiled Cholesky and GEMM: Hocket, other runtimes and OpenBLAS in turns
  accelerator  what a task costs on OpenCL and emulated PIM, beside the bare calls
  idle         what an idle runtime uses, how fast it wakes, how it bears 10 million tasks
TEXT
    ;;
  *)
    echo "bench/run.sh: there is no suite $suite; without arguments it says what there is" >&2
    exit 2
    ;;
esac
