#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host time per tiny kernel on accelerators: with Hocket, through its backend alone, and with plain OpenCL calls.

All launch the same kernel on buffers that lie on the device. ns are of the wall clock from the first submission to
the end of the last kernel; CPU ns are of all threads, those of a device that computes on the CPU among them. The
ratio is to plain OpenCL, and for the emulated PIM device to calls of its backend."""

import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure  # noqa: E402

FLOOR = {"opencl": "plain_opencl", "pim": "device"}


def main():
    parser = measure.parser(__doc__.split("\n\n", maxsplit=1)[0], rounds=7)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["opencl", "pim"])
    parser.add_argument("--tasks", type=lambda text: [int(word) for word in text.split(",")],
                        help="default: 1000,10000, with --quick 1000")
    options = parser.parse_args()
    rounds = measure.rounds_of(options, 7)
    measure.build(options.build, "hocket_bench_accelerator")
    program = os.path.join(options.build, "bench", "accelerator", "hocket_bench_accelerator")

    samples = collections.defaultdict(list)
    for kind in options.kinds:
        for tasks in options.tasks or ([1000] if options.quick else [1000, 10000]):
            done = subprocess.run([program, kind, str(tasks), str(rounds)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                if "not built in" in done.stderr or "no OpenCL device" in done.stderr:
                    print(f"{kind}: skipped, {done.stderr.strip()}")
                    break
                sys.exit(f"{program} {kind} failed:\n{done.stdout[-2000:]}{done.stderr}")
            for line in done.stdout.splitlines():
                run = json.loads(line)
                samples[run["kind"], run["pattern"], run["tasks"], run["runtime"]].append(
                    (run["ns_per_task"], run["cpu_ns_per_task"]))

    results = []
    rows = []
    for (kind, pattern, tasks, runtime), measured in samples.items():
        wall = measure.median([run[0] for run in measured])
        floor = measure.median([run[0] for run in samples[kind, pattern, tasks, FLOOR[kind]]])
        results.append({"pattern": pattern, "device": kind, "tasks": tasks, "runtime": runtime, "ns_per_task": wall,
                        "ns_per_task_best": min(run[0] for run in measured),
                        "cpu_ns_per_task": measure.median([run[1] for run in measured]),
                        "ratio": wall / floor, "bytes_per_task": None})
        rows.append([kind, pattern, tasks, runtime, round(wall), round(results[-1]["ns_per_task_best"]),
                     round(results[-1]["cpu_ns_per_task"]), f"{wall / floor:.2f}"])
    print(f"{rounds} rounds; medians; ratio to {', '.join(f'{floor} ({kind})' for kind, floor in FLOOR.items())}")
    measure.table(["device", "pattern", "tasks", "runtime", "ns/task", "best", "CPU ns", "ratio"], rows)
    measure.write_json(options.json, results, suite="accelerator", rounds=rounds)


main()
