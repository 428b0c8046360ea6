#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Idle CPU use, wake-up and latency, short tasks, long submissions, more workers than cores.

Each probe is a process of its own, in which what is compared takes turns."""

import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure  # noqa: E402

PROBES = ["idle_use", "wake_up", "latency", "speed_up", "oversubscription", "long_submission"]


def main():
    parser = measure.parser(__doc__.split("\n\n", maxsplit=1)[0], rounds=5)
    parser.add_argument("--probes", type=lambda text: text.split(","), default=PROBES,
                        help=f"default: {','.join(PROBES)}")
    options = parser.parse_args()
    for probe in options.probes:
        if probe not in PROBES:
            parser.error(f"unknown probe {probe}")
    rounds = measure.rounds_of(options, 5)
    measure.build(options.build, "hocket_bench_idle")
    program = os.path.join(options.build, "bench", "idle", "hocket_bench_idle")

    samples = collections.defaultdict(list)
    for probe in options.probes:
        done = subprocess.run([program, probe, str(rounds)] + (["quick"] if options.quick else []),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {probe} failed ({done.returncode}):\n{done.stdout[-2000:]}{done.stderr}")
        for line in done.stdout.splitlines():
            sample = json.loads(line)
            samples[sample["benchmark"], sample["case"], sample["runtime"], sample["workers"],
                    sample["unit"]].append(sample["value"])

    results = []
    rows = []
    for (benchmark, case, runtime, workers, unit), values in samples.items():
        values.sort()
        high = values[min(len(values) - 1, len(values) * 9 // 10)]
        results.append({"benchmark": benchmark, "pattern": case, "runtime": runtime, "workers": workers,
                        "unit": unit, "median": measure.median(values), "min": values[0], "p90": high,
                        "samples": len(values)})
        rows.append([benchmark, case, runtime, workers, *(f"{v:.3g}" if v < 100 else f"{v:.0f}" for v in
                                                          (measure.median(values), values[0], high)), unit])
    print(f"{rounds} rounds")
    measure.table(["benchmark", "case", "runtime", "workers", "median", "min", "p90", "unit"], rows)
    measure.write_json(options.json, results, suite="idle", rounds=rounds)


main()
