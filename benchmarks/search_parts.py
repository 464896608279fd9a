"""What each part of the search contributes, and where its time goes.

    nice python benchmarks/search_parts.py [--seeds 3] [--only D31/100 ...] [--output benchmarks/results]

Fits every set with the whole search and with each part switched off, at the same budget of distances, on one
thread; then with ten times the effort, which several starts share and recombine, without recombination, and in one
long search. The excess is over the best objective of all runs on the set. Times are CPU times. Prints tables,
writes search-parts.json, and draws docs/search-parts.svg and docs/search-time.svg. With --only, or with another
--output, the pictures go beside the JSON file. `--draw` draws the stored runs again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from unittest.mock import patch

import numpy as np
from quality_sets import Data, Problem, array_loader, benchmark_problems, data_folder
from search_parts_clock import KERNELS, STAGES, Clock, Entry
from search_parts_drawing import draw_parts, draw_time

from eulermeans import EulerMeans, _core, fitting, search_budget
from eulermeans.arrays import FloatArray
from eulermeans.oracles import Clustering, MemoryOracle
from eulermeans.solvers import Solver, local_search, recombine
from eulermeans.solvers.local_search import Search

SETS = ("D31", "pcb3038", "Cloud", "Norm25", "Spam", "Birch1")
EMBEDDED = 5000  # rows of the embeddings
FOLDER = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"

WHOLE, NO_ROUNDS = "whole search", "no rounds"
LONG, BEST_START, ONE_START = "effort 10", "effort 10, best start", "effort 10, one start"
EFFORTS = {NO_ROUNDS: 0.0, LONG: 10.0, BEST_START: 10.0, ONE_START: 10.0}  # 1 for all other parts
NEVER = -1.0  # below the rate of a kind of round that gains nothing


@contextmanager
def without_rounds(*kinds: str) -> Iterator[None]:
    """These kinds of rounds are never chosen."""
    begin = Search.__init__

    def begin_without(self: Search, *arguments: object, **options: object) -> None:
        begin(self, *arguments, **options)
        names = [kind.__name__ for kind in self._kinds]
        for kind in kinds:
            self._rates[names.index(kind)] = NEVER

    with patch.object(Search, "__init__", begin_without):
        yield


@contextmanager
def without_transfers() -> Iterator[None]:
    """Single points move by passes only, also while moves are tried."""
    try_moves = _core.try_moves
    with (
        patch.object(Clustering, "transfer", lambda self: 0),
        patch.object(
            _core, "try_moves", lambda *args, **options: try_moves(*args, **options | {"transfers": False})
        ),
    ):
        yield


def without_annealing() -> object:
    """All of the budget is left for rounds."""
    return patch.object(local_search, "ANNEALED", 0.0)


def without_breaths() -> object:
    """The same."""
    return patch.object(local_search, "BREATHED", 0.0)


def without_recombination() -> object:
    """The best of several starts is taken as it is."""

    def only_best(
        oracle: MemoryOracle, centers: FloatArray, *_: object, rng: np.random.Generator, **__: object
    ) -> Solver:
        return recombine(oracle, centers, others=(), rng=rng)

    return patch.object(fitting, "recombine", only_best)


def with_one_start() -> object:
    """A large effort is spent on one long search."""
    return patch.object(search_budget, "START_EFFORT", float("inf"))


PARTS: dict[str, Callable[[], object]] = {
    WHOLE: ExitStack,
    "no breaths": without_breaths,
    "no exchanges": lambda: without_rounds("exchange_coarsely", "exchange"),
    "no swaps": lambda: without_rounds("swap"),
    "no annealing": without_annealing,
    "no transfers": without_transfers,
    NO_ROUNDS: ExitStack,
    LONG: ExitStack,
    BEST_START: without_recombination,
    ONE_START: with_one_start,
}


@dataclass(frozen=True)
class Run:
    problem: str
    part: str  # what is switched off
    seed: int
    inertia: float
    cpu_seconds: float


def problems() -> list[Problem]:
    found = [problem for problem in benchmark_problems() if problem.data.name in SETS]
    found.sort(key=lambda problem: SETS.index(problem.data.name))
    load = array_loader(data_folder() / "embeddings" / "docstrings.npy", np.float32)
    return [*found, Problem(Data("docstrings", lambda: load()[:EMBEDDED]), 200)]


def fitted(problem: Problem, part: str, seed: int) -> Run:
    """One fit, with a part switched off."""
    effort = EFFORTS.get(part, 1.0)
    with PARTS[part]():
        start = time.process_time()
        model = EulerMeans(problem.n_clusters, effort=effort, random_state=seed, n_threads=1).fit(
            problem.data.points
        )
        seconds = time.process_time() - start
    return Run(problem.name, part, seed, problem.inertia(model.cluster_centers_), seconds)


def shares(problem: Problem, seeds: range, entries: list[Entry]) -> dict[str, float]:
    """The mean CPU seconds of a fit by name."""
    clock = Clock()
    with clock.watching(entries):
        for seed in seeds:
            EulerMeans(problem.n_clusters, random_state=seed, n_threads=1).fit(problem.data.points)
    return {name: seconds / len(seeds) for name, seconds in clock.seconds.items()}


def excesses(runs: list[Run]) -> dict[tuple[str, str], list[float]]:
    """For each problem and part, the excess of each run over the best on the problem, in per cent."""
    best = {
        name: min(run.inertia for run in runs if run.problem == name) for name in {run.problem for run in runs}
    }
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        found.setdefault((run.problem, run.part), []).append(100 * (run.inertia / best[run.problem] - 1))
    return found


def print_table(stored: dict) -> None:
    """Mean excesses and seconds as Markdown, then seconds by stage and by computation."""
    runs = [Run(**run) for run in stored["runs"]]
    seconds: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        seconds.setdefault((run.problem, run.part), []).append(run.cpu_seconds)
    names = list(dict.fromkeys(run.problem for run in runs))
    for title, found in (("mean excess, %", excesses(runs)), ("mean CPU seconds", seconds)):
        print(f"| {title} |", " | ".join(PARTS), "|")
        print("|---|", "---:|" * len(PARTS), sep="")
        for name in names:
            print(f"| {name} |", " | ".join(f"{statistics.mean(found[name, part]):.2f}" for part in PARTS), "|")
        print()
    for title, key in (("stage", "stages"), ("computation", "kernels")):
        rows = list(dict.fromkeys(row for name in names for row in stored[key][name]))
        print(f"| CPU seconds by {title} |", " | ".join(names), "|")
        print("|---|", "---:|" * len(names), sep="")
        for row in rows:
            print(f"| {row} |", " | ".join(f"{stored[key][name].get(row, 0.0):.3f}" for name in names), "|")
        print()


def measured(chosen: list[Problem], seeds: range) -> dict:
    runs, stages, kernels = [], {}, {}
    for problem in chosen:
        fitted(problem, NO_ROUNDS, 0)  # pays for imports and for reading the points
        runs += [fitted(problem, part, seed) for seed in seeds for part in PARTS]
        stages[problem.name] = shares(problem, seeds[:1], STAGES)
        kernels[problem.name] = shares(problem, seeds[:1], KERNELS)
        problem.data.unload()
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {_core.instruction_set()}, 1 of {os.cpu_count()} cores",
        "runs": [asdict(run) for run in runs],
        "stages": stages,
        "kernels": kernels,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="SET/K", help="these sets only")
    parser.add_argument("--output", type=Path, default=FOLDER, help="(default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help="draw the stored runs again")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds is {options.seeds}; at least 1 is needed")
    path = options.output / "search-parts.json"
    if options.draw:
        stored = json.loads(path.read_text())
    else:
        known = {problem.name: problem for problem in problems()}
        if unknown := set(options.only or ()) - known.keys():
            parser.error(f"--only has {', '.join(sorted(unknown))}; the sets are {', '.join(known)}")
        stored = measured([known[name] for name in options.only or known], range(options.seeds))
        options.output.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(stored, indent=1) + "\n")
    print_table(stored)
    pictures = DOCS if options.output == FOLDER and not options.only else options.output
    draw_parts(excesses([Run(**run) for run in stored["runs"]]), pictures / "search-parts.svg")
    draw_time(stored["stages"], stored["kernels"], pictures / "search-time.svg")


if __name__ == "__main__":
    main()
