#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiled GEMM and Cholesky factorisation on Hocket, StarPU, OpenMP tasks and OpenBLAS's own threads.

Every run is a process of its own that keeps to as many processors as it has workers; runtimes take turns in every
round. Tasks call OpenBLAS on one thread, on tiles that are dense by themselves (OpenBLAS: the whole matrix). hocket and
hocket_replay use the bundled codelets; hocket_same_kernels calls the very routines that the peers call. A sample is the median of the repetitions of one process. The peak is the best that one thread
reaches in a product of cache-friendly size, times the workers."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import measure  # noqa: E402

RUNTIMES = {  # name: (program, mode)
    "hocket": ("hocket", "streaming"),
    "hocket_replay": ("hocket", "replay"),
    "hocket_same_kernels": ("hocket", "same_kernels"),
    "starpu_dmdas": ("starpu", "dmdas"),
    "starpu_lws": ("starpu", "lws"),
    "openmp": ("openmp", ""),
    "openblas": ("openblas", ""),
}
PEAK_SIZES = (768, 1024, 1536, 2048)


def words(text):
    return text.split(",")


def numbers(text):
    return [int(word) for word in words(text)]


def options():
    parser = measure.parser(__doc__.split("\n\n", maxsplit=1)[0], rounds=5)
    parser.add_argument("--problems", type=words, default=["cholesky", "gemm"])
    parser.add_argument("--types", type=words, default=["double", "float"])
    parser.add_argument("--sizes", type=numbers, help="default: 4096,8192, with --quick 1024,2048")
    parser.add_argument("--tiles", type=numbers, default=[256, 512])
    parser.add_argument("--workers", type=numbers, default=[2, 1])
    parser.add_argument("--runtimes", type=words, default=list(RUNTIMES), help=f"default: {','.join(RUNTIMES)}")
    parser.add_argument("--storage", choices=["tiles", "whole"], default="tiles",
                        help="whole: the tiles are parts of one row-major array")
    result = parser.parse_args()
    for runtime in result.runtimes:
        if runtime not in RUNTIMES:
            parser.error(f"unknown runtime {runtime}")
    result.sizes = result.sizes or ([1024, 2048] if result.quick else [4096, 8192])
    return result


class Programs:
    """Runs the programs in the environment that suits the peers."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "bench", "dense")
        self.cores = set()
        self.peaks = {}
        self.environment = {
            **os.environ,
            "OMP_MAX_TASK_PRIORITY": "1000000",  # without it OpenMP ignores priorities
            "OMP_PROC_BIND": "true",
            "STARPU_HOME": self.folder,  # its performance models
            "STARPU_SILENT": "1",
        }

    def path(self, program):
        return os.path.join(self.folder, f"hocket_bench_dense_{program}")

    def there(self, program):
        return os.path.exists(self.path(program))

    def run(self, program, workers, environment=None, **arguments):
        """The speeds of one process's repetitions in GFLOP/s."""
        command = [self.path(program), f"workers={workers}"] + [f"{k}={v}" for k, v in arguments.items() if v != ""]
        done = subprocess.run(command, env={**self.environment, **(environment or {})}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False,
                              preexec_fn=measure.on_processors(workers))
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        result = json.loads(done.stdout)
        self.cores.add(result["core"])
        return result["gflops"]

    def peak(self, element):
        """The best of a thread so far; each call tries again."""
        speeds = [max(self.run("openblas", 1, problem="gemm", type=element, n=n, tile=n, for_seconds=0.15))
                  for n in PEAK_SIZES]
        self.peaks[element] = max(speeds + [self.peaks.get(element, 0)])
        return self.peaks[element]


def calibrate_starpu(programs, chosen):
    """Lets StarPU's models see every kernel some dozen times."""
    for workers in chosen.workers:
        for element in chosen.types:
            for tile in chosen.tiles:
                for problem in chosen.problems:
                    programs.run("starpu", workers, {"STARPU_CALIBRATE": "1"}, problem=problem, type=element,
                                 n=tile * (16 if problem == "cholesky" else 4), tile=tile, mode="dmdas",
                                 storage=chosen.storage, for_seconds=0)


def measure_case(programs, chosen, runtimes, case, rounds, samples):
    """One problem on all runtimes in turns; fills samples[runtime]."""
    problem, element, n, tile, workers = case
    for turn in range(rounds):
        order = runtimes[turn % len(runtimes):] + runtimes[:turn % len(runtimes)]
        for runtime in order:
            program, mode = RUNTIMES[runtime]
            whole = program == "openblas"
            if whole and samples[runtime] and len(samples[runtime]) > turn:
                continue  # it has no tiles: measured with the first tile size
            speeds = programs.run(program, workers, problem=problem, type=element, n=n, tile=n if whole else tile,
                                  mode=mode, storage="whole" if whole else chosen.storage,
                                  for_seconds=0.1 if chosen.quick else 0.5)
            samples[runtime].append((measure.median(speeds), max(speeds)))


def main():
    chosen = options()
    rounds = measure.rounds_of(chosen, 5)
    measure.build(chosen.build, "hocket_bench_dense")
    programs = Programs(chosen.build)
    runtimes = [name for name in chosen.runtimes if programs.there(RUNTIMES[name][0])]
    for name in chosen.runtimes:
        if name not in runtimes:
            print(f"{name}: skipped, was not found when configuring")
    if any(RUNTIMES[name][0] == "starpu" for name in runtimes):
        calibrate_starpu(programs, chosen)

    results = []
    rows = []
    header = ["problem", "type", "n", "tile", "workers", "runtime", "GFLOP/s", "best", "of best peer %", "of peak %"]
    for problem in chosen.problems:
        for element in chosen.types:
            for n in chosen.sizes:
                for workers in chosen.workers:
                    untiled = {}
                    peak = programs.peak(element) * workers
                    for tile in chosen.tiles:
                        samples = {name: untiled.get(name, []) for name in runtimes}
                        measure_case(programs, chosen, runtimes, (problem, element, n, tile, workers), rounds,
                                     samples)
                        untiled = {name: samples[name] for name in runtimes if name == "openblas"}
                        speeds = {name: measure.median([s[0] for s in samples[name]]) for name in runtimes}
                        peers = [speed for name, speed in speeds.items() if not name.startswith("hocket")]
                        for name in runtimes:
                            of_peer = 100 * speeds[name] / max(peers) if peers else None
                            best = max(s[1] for s in samples[name])
                            results.append({
                                "problem": problem, "type": element, "n": n,
                                "tile": None if name == "openblas" else tile, "runtime": name, "workers": workers,
                                "gflops": speeds[name], "gflops_best": best, "gflops_peak": peak,
                                "percent_of_best_peer": of_peer, "percent_of_peak": 100 * speeds[name] / peak})
                            rows.append([problem, element, n, "-" if name == "openblas" else tile, workers, name,
                                         f"{speeds[name]:.1f}", f"{best:.1f}",
                                         "-" if of_peer is None else f"{of_peer:.1f}",
                                         f"{100 * speeds[name] / peak:.1f}"])
                        print(f"{problem} {element} n={n} tile={tile} workers={workers}: "
                              + ", ".join(f"{name} {speed:.1f}" for name, speed in speeds.items())
                              + f" GFLOP/s; peak {peak:.1f}", file=sys.stderr, flush=True)
    print(f"OpenBLAS kernels for: {', '.join(sorted(programs.cores))}; {rounds} rounds; medians")
    measure.table(header, rows)
    measure.write_json(chosen.json, results, suite="dense", core=sorted(programs.cores), rounds=rounds)


main()
