#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a task costs beside its work: the same tasks on Hocket and on other runtimes, in turns.

Hocket and oneTBB share a process; the other runtimes have one each. Every round runs all of them once more, in an order
that changes; figures are medians over the rounds. Before anything is timed, each runtime runs each pattern with
tasks that note when they ran: one that leaves out a task, or runs it too early, ends the suite."""

import json
import math
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chart  # noqa: E402

PROGRAMS = {  # program: (folder, runtimes)
    "engine": ("engine", ["hocket", "hocket_replay", "tbb_flow_graph", "tbb_flow_graph_replay", "tbb_task_group"]),
    "libgomp": ("peers", ["libgomp"]),
    "libomp": ("peers", ["libomp"]),
    "starpu": ("peers", ["starpu"]),
}
RUNTIMES = [runtime for _, runtimes in PROGRAMS.values() for runtime in runtimes]
PATTERNS = ["independent", "independent_lambda", "chain", "tree", "fan", "wavefront", "layered", "data1", "data2",
            "data3", "cholesky", "fibonacci", "submit2", "one_task", "cold"]
GRAIN_PATTERNS = ["metg_stencil", "metg_fft", "metg_tree", "metg_nearest", "metg_random"]
GRAIN_PROGRAMS = ["engine", "libgomp", "libomp"]
RATIOS = [("hocket", "tbb_flow_graph"), ("hocket_replay", "tbb_flow_graph_replay"), ("hocket", "tbb_task_group"),
          ("hocket", "libgomp"), ("hocket", "libomp"), ("hocket", "starpu")]
EFFICIENCIES = [0.5, 0.95]


def words(text):
    return text.split(",")


def numbers(text):
    return [int(word) for word in words(text)]


def options():
    parser = measure.parser(__doc__.split("\n\n", maxsplit=1)[0], rounds=5)
    parser.add_argument("--patterns", type=words, default=PATTERNS + GRAIN_PATTERNS,
                        help=f"default: {','.join(PATTERNS + GRAIN_PATTERNS)}")
    parser.add_argument("--runtimes", type=words, default=RUNTIMES, help=f"default: {','.join(RUNTIMES)}")
    parser.add_argument("--workers", type=numbers, default=[1, 2][:len(os.sched_getaffinity(0))],
                        help="default: 1,2, on one processor 1")
    parser.add_argument("--wavefront", type=int, default=1000, help="tasks along each side (default: 1000)")
    parser.add_argument("--no-build", action="store_true", help="takes the programs as they are")
    parser.add_argument("--no-memory", action="store_true", help="does not measure bytes for each task")
    parser.add_argument("--svg", metavar="FILE", help="the picture (default: engine.svg in the build folder)")
    result = parser.parse_args()
    for kind, given, known in [("pattern", result.patterns, PATTERNS + GRAIN_PATTERNS),
                               ("runtime", result.runtimes, RUNTIMES)]:
        for name in given:
            if name not in known:
                parser.error(f"unknown {kind} {name}")
    if min(result.workers) < 1:
        parser.error("--workers wants numbers from 1")
    result.rounds = measure.rounds_of(result, 5)
    result.svg = result.svg or os.path.join(result.build, "engine.svg")
    return result


class Programs:
    """The programs of the runtimes that were asked for and are there."""

    def __init__(self, chosen):
        self.options = chosen
        self.folder = os.path.join(chosen.build, "bench")
        self.environment = {
            **os.environ,
            "OMP_PROC_BIND": "true",
            "STARPU_HOME": self.folder,
            "STARPU_SILENT": "1",
        }
        self.names = []
        for name, (_, runtimes) in PROGRAMS.items():
            if not set(runtimes) & set(chosen.runtimes):
                continue
            if os.path.exists(self.path(name)):
                self.names.append(name)
            elif name == "engine":
                sys.exit(f"{self.path(name)} is missing; leave out --no-build")
            else:
                print(f"skipped: {name} (its library was not found when the build was configured)")

    def path(self, name):
        return os.path.join(self.folder, PROGRAMS[name][0], f"hocket_bench_{name}")

    def runtimes(self, name):
        return [runtime for runtime in PROGRAMS[name][1] if runtime in self.options.runtimes]

    def run(self, name, workers, *arguments, limit_s=1200):
        """What the program prints."""
        command = [self.path(name), f"--workers={workers}", f"--wavefront={self.options.wavefront}", *arguments]
        if self.options.quick:
            command.append("--quick")
        try:
            done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            sys.exit(f"{' '.join(command)}\nhas not ended after {limit_s} s")
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def lines(self, name, workers, *arguments):
        return [json.loads(line) for line in self.run(name, workers, *arguments).splitlines() if line.startswith("{")]


class Results:
    """Samples of (pattern, workers, runtime)."""

    def __init__(self):
        self.tasks = {}
        self.cpu = {}
        self.wall = {}
        self.bytes = {}

    def add(self, key, tasks, cpu_ns, wall_ns):
        self.tasks[key] = tasks
        self.cpu.setdefault(key, []).append(cpu_ns / tasks)
        self.wall.setdefault(key, []).append(wall_ns / tasks)

    def ns(self, key):
        return measure.median(self.cpu[key]) if key in self.cpu else None

    def wall_ns(self, key):
        return measure.median(self.wall[key]) if key in self.wall else None

    def ratio(self, pattern, workers, one, other):
        a, b = self.ns((pattern, workers, one)), self.ns((pattern, workers, other))
        return a / b if a and b else None

    def rows(self):
        return [{"pattern": pattern, "runtime": runtime, "workers": workers, "tasks": self.tasks[pattern, workers, runtime],
                 "ns_per_task": round(self.ns((pattern, workers, runtime)), 2),
                 "bytes_per_task": self.bytes.get((pattern, workers, runtime)),
                 "wall_ns_per_task": round(self.wall_ns((pattern, workers, runtime)), 2),
                 "min_ns_per_task": round(min(samples), 2),
                 "min_wall_ns_per_task": round(min(self.wall[pattern, workers, runtime]), 2),
                 "rounds": len(samples)}
                for (pattern, workers, runtime), samples in sorted(self.cpu.items())]


def verify(programs, patterns):
    """Every runtime does all of the work, in order; returns what it has nothing for."""
    nothing = set()
    for pattern in patterns:
        for name in programs.names:
            workers = ",".join(map(str, programs.options.workers))
            for line in programs.lines(name, workers, f"--verify={pattern}"):
                if line["wrong"]:
                    sys.exit(f"{line['runtime']}, {pattern}, {line['workers']} workers: {line['wrong']}")
                if line["skipped"]:
                    nothing.add((pattern, line["workers"], line["runtime"]))
    return nothing


def measure_round(programs, results, pattern, workers, runtimes_of):
    """One more sample of each runtime. `cold` needs a process for each, since it is about the first run in one."""
    turns = []
    for name in programs.names:
        runtimes = runtimes_of(name)
        if not runtimes:
            continue
        turns += [(name, [runtime]) for runtime in runtimes] if pattern == "cold" else [(name, runtimes)]
    random.shuffle(turns)
    for name, runtimes in turns:
        printed = programs.run(
            name, workers, f"--benchmark_filter=^{pattern}/({'|'.join(runtimes)})/", "--benchmark_format=json",
            "--benchmark_repetitions=1", "--benchmark_enable_random_interleaving=true")
        for entry in json.loads(printed)["benchmarks"]:
            runtime = entry["name"].split("/")[1]
            if entry.get("error_occurred"):
                sys.exit(f"{entry['name']}: {entry['error_message']}")
            to_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[entry["time_unit"]]
            results.add((pattern, workers, runtime), int(entry["tasks"]), entry["cpu_time"] * to_ns,
                        entry["real_time"] * to_ns)


def measure_memory(programs, results, pattern, workers, runtimes_of):
    for name in programs.names:
        for runtime in runtimes_of(name):
            for line in programs.lines(name, workers, f"--memory={pattern}/{runtime}"):
                if line["bytes_per_task"] is not None:
                    results.bytes[pattern, workers, runtime] = round(line["bytes_per_task"], 1)


def measure_grain(programs, samples, pattern, workers):
    """Adds (task ns, efficiency) for each size of a round to samples[runtime]."""
    names = [name for name in programs.names if name in GRAIN_PROGRAMS]
    random.shuffle(names)
    for name in names:
        for line in programs.lines(name, workers, f"--grain={pattern.removeprefix('metg_')}"):
            if line["runtime"] in programs.options.runtimes:
                efficiency = line["tasks"] * line["task_ns"] / (workers * line["wall_ns"])
                samples.setdefault(line["runtime"], []).append((line["task_ns"], efficiency))


def smallest_task(points, rounds, wanted):
    """The least size in ns whose efficiency is `wanted`, between sizes on a logarithmic scale, and whether it may be
    less still since the smallest one measured is enough; None for what no size reaches. `points` holds the sizes of
    one round after those of another."""
    sizes = len(points) // rounds
    curve = []
    for i in range(sizes):
        same = points[i::sizes]
        curve.append((measure.median([size for size, _ in same]), measure.median([value for _, value in same])))
    if curve[0][1] >= wanted:
        return curve[0][0], True
    for (small, low), (large, high) in zip(curve, curve[1:]):
        if high >= wanted:
            part = (wanted - low) / (high - low)
            return math.exp(math.log(small) + part * (math.log(large) - math.log(small))), False
    return None, False


def text_of(value, digits=None):
    if value is None:
        return "-"
    if digits is not None:
        return f"{value:.{digits}f}"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def print_table(title, columns, rows):
    """`rows`: (pattern, workers, texts)."""
    if not any(text != "-" for _, _, texts in rows for text in texts):
        return
    print(f"\n{title}")
    header = ["pattern", "workers"] + columns
    lines = [[pattern, str(workers), *texts] for pattern, workers, texts in rows]
    widths = [max(len(line[i]) for line in [header] + lines) for i in range(len(header))]
    for line in [header] + lines:
        print("  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])]), flush=True)


def print_times(results, patterns, chosen):
    rows = [(pattern, workers) for pattern in patterns for workers in chosen.workers]
    runtimes = [runtime for runtime in RUNTIMES if any((p, w, runtime) in results.cpu for p, w in rows)]

    def table(title, value):
        print_table(title, runtimes, [(p, w, [value((p, w, r)) for r in runtimes]) for p, w in rows])

    table("CPU time of the process, ns per task (median)", lambda key: text_of(results.ns(key)))
    ratios = [(one, other) for one, other in RATIOS if one in runtimes and other in runtimes]
    print_table("ratios of CPU time (below 1: Hocket takes less)", [f"{a} / {b}" for a, b in ratios],
                [(p, w, [text_of(results.ratio(p, w, a, b), 2) for a, b in ratios]) for p, w in rows])
    table("wall time, ns per task (median)", lambda key: text_of(results.wall_ns(key)))


def print_memory(results, patterns, chosen):
    rows = [(pattern, workers) for pattern in patterns for workers in chosen.workers]
    runtimes = [runtime for runtime in RUNTIMES if any((p, w, runtime) in results.bytes for p, w in rows)]
    print_table("bytes per task in flight (-: the runtime has few in flight, or the pattern none)", runtimes,
                [(p, w, [text_of(results.bytes.get((p, w, r))) for r in runtimes]) for p, w in rows])


def grain_rows(samples, rounds):
    return [{"pattern": pattern, "runtime": runtime, "workers": workers, "efficiency": wanted,
             "task_ns": None if size is None else round(size, 1), "at_most": at_most}
            for (pattern, workers), by_runtime in samples.items() for runtime, points in by_runtime.items()
            for wanted in EFFICIENCIES for size, at_most in [smallest_task(points, rounds, wanted)]]


def print_grain(rows, chosen):
    runtimes = [runtime for runtime in RUNTIMES if any(row["runtime"] == runtime for row in rows)]
    for wanted in EFFICIENCIES:
        found = {(row["pattern"], row["workers"], row["runtime"]): ("<" if row["at_most"] else "") + text_of(row["task_ns"])
                 for row in rows if row["efficiency"] == wanted}
        keys = [(p, w) for p in chosen.patterns if p in GRAIN_PATTERNS for w in chosen.workers]
        print_table(f"smallest task at {wanted:.0%} efficiency, ns (-: more than the largest measured)", runtimes,
                    [(p, w, [found.get((p, w, r), "-") for r in runtimes]) for p, w in keys])


def main():
    chosen = options()
    if not chosen.no_build:
        measure.build(chosen.build, "hocket_bench_engine", "hocket_bench_peers")
    programs = Programs(chosen)
    patterns = [pattern for pattern in chosen.patterns if pattern in PATTERNS]
    grains = [pattern for pattern in chosen.patterns if pattern in GRAIN_PATTERNS]
    results, samples = Results(), {}

    print(f"checking that every task runs, in order: {', '.join(patterns) or 'no pattern'}", flush=True)
    nothing = verify(programs, patterns)

    def runtimes_of(pattern, workers):
        return lambda name: [r for r in programs.runtimes(name) if (pattern, workers, r) not in nothing]

    for turn in range(chosen.rounds):
        print(f"round {turn + 1} of {chosen.rounds}", flush=True)
        for pattern in patterns:
            for workers in chosen.workers:
                measure_round(programs, results, pattern, workers, runtimes_of(pattern, workers))
        for pattern in grains:
            for workers in chosen.workers:
                measure_grain(programs, samples.setdefault((pattern, workers), {}), pattern, workers)
    print_times(results, patterns, chosen)
    metg = grain_rows(samples, chosen.rounds)
    print_grain(metg, chosen)
    if not chosen.no_memory:
        for pattern in patterns:
            for workers in chosen.workers:
                measure_memory(programs, results, pattern, workers, runtimes_of(pattern, workers))
        print_memory(results, patterns, chosen)
    measure.write_json(chosen.json, results.rows(), **({"metg": metg} if metg else {}))
    bars = [(f"{pattern}, {workers}", [(f"{a} / {b}", ratio) for a, b in RATIOS
                                       for ratio in [results.ratio(pattern, workers, a, b)] if ratio])
            for pattern in patterns for workers in chosen.workers]
    bars = [(label, ratios) for label, ratios in bars if ratios]
    if bars:
        with open(chosen.svg, "w", encoding="utf-8") as file:
            file.write(chart.ratios("CPU time per task, Hocket / others (left of 1: Hocket takes less)",
                                    [f"{a} / {b}" for a, b in RATIOS], bars))
        print(f"\npicture: {chosen.svg}")


if __name__ == "__main__":
    main()
