# SPDX-License-Identifier: Apache-2.0
"""What the benchmark suites share: building their programs, the processors that they may use, tables and JSON."""

import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def parser(description, rounds):
    """The options that every suite takes."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--json", metavar="FILE", help="also writes the results there")
    result.add_argument("--rounds", type=int, default=None,
                        help=f"how often each is measured, in turns (default: {rounds}, with --quick 3)")
    result.add_argument("--quick", action="store_true", help="small sizes")
    result.add_argument("--build", metavar="FOLDER", default=os.path.join(ROOT, "build", "release"),
                        help="the build folder (default: build/release)")
    return result


def rounds_of(options, default):
    rounds = options.rounds if options.rounds is not None else 3 if options.quick else default
    if rounds < 1:
        sys.exit("--rounds must be at least 1")
    return rounds


def build(folder, *targets):
    """Configures where nothing has been, and brings the targets up to date."""
    if not os.path.exists(os.path.join(folder, "CMakeCache.txt")):
        if os.path.abspath(folder) != os.path.join(ROOT, "build", "release"):
            sys.exit(f"{folder} is no build folder")
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    made = subprocess.run(["cmake", "--build", folder, "--target", *targets], stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        sys.exit(made.stdout[-4000:] + "\nthe programs could not be built")


def processors(count):
    """The first `count` processors that this process may use; all where there are fewer."""
    return sorted(os.sched_getaffinity(0))[:count]


def on_processors(count):
    """For subprocess.run(preexec_fn=...): the child keeps to `count` processors."""
    chosen = processors(count)
    return lambda: os.sched_setaffinity(0, chosen)


def median(samples):
    return statistics.median(samples)


def table(header, rows):
    """Prints rows of text and numbers in columns; text to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [header] + rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    numeric = [bool(rows) and not isinstance(rows[0][i], str) or header[i].endswith("%") for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.rjust(width) if right else cell.ljust(width)
                        for cell, width, right in zip(row, widths, numeric)).rstrip(), flush=True)


def write_json(path, results, **more):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**more, "results": results}, file, indent=1)
            file.write("\n")
