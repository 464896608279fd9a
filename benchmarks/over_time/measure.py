"""Processor time of kernels and fits, with the eulermeans that is installed: prints one JSON object.

    python benchmarks/over_time/measure.py [--only REGEX]

`compare.py` runs this with the package of two commits. The benchmarks are the present ones for both, so they use
public names, and those of the oracle, which change least.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

MODULES = ("fits", "kernels")
REPEATS = 5
ENOUGH = 0.3  # seconds: a benchmark is not repeated after that
SHORTEST = 0.01  # seconds: what takes less is called several times


@dataclass(frozen=True)
class Benchmark:
    """Something to measure. If it returns a model, its inertia is noted as well: quality may get worse, too."""

    name: str
    run: Callable[[], object]


def measure(benchmark: Benchmark) -> dict[str, float]:
    """Seconds of processor time, the least of several runs, and the inertia if there is one."""
    seconds, result = timed(benchmark.run)  # the first call is slower than the others
    calls = max(1, round(SHORTEST / max(seconds, 1e-6)))
    best, spent = float("inf"), 0.0
    for _ in range(REPEATS):
        seconds = sum(timed(benchmark.run)[0] for _ in range(calls))
        best, spent = min(best, seconds / calls), spent + seconds
        if spent > ENOUGH:
            break
    found = {benchmark.name: best}
    inertia = getattr(result, "inertia_", None)
    return found if inertia is None else found | {f"{benchmark.name}, inertia": float(inertia)}


def timed(run: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", default="", help="benchmarks with such names")
    only = re.compile(parser.parse_args().only, re.IGNORECASE)
    found: dict[str, float] = {}
    for name in MODULES:
        for benchmark in importlib.import_module(name).benchmarks():
            if only.search(benchmark.name):
                found |= measure(benchmark)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
