"""How good the minima are that EulerMeans finds, and how soon, beside what people use now.

    python benchmarks/quality.py [--sets A3 S2 ...] [--methods eulermeans bkmeans ...] [--seeds 10] [--threads 2]
                                 [--large] [--output benchmarks/results]

Every method runs with every seed on every set, the methods in turn, so that a busy machine slows all alike; the
slow ones get fewer seeds on mnist. The objective is recomputed in float64 from the centers that a method returns;
its excess is over the best known, or over the best of this run where that is lower. Times are medians, relative to
ours; judged by wall time, or with one thread by CPU time, which a busy machine disturbs least. (With more threads
than idle cores the peers wait for each other's threads many times longer than they compute: use `--threads 1`.)

Prints a table for each set and the project's bar, and writes quality.json, quality.md, quality-profile.svg and
quality-tradeoff.svg, as it goes, so that a run that is stopped has told what it knew. `--large` adds
1000000×64 points with 256 clusters (a few minutes).

The peers are in the dependency group `bench`, but for flspp, which asks for an old NumPy that it does not need:
`pip install --group bench && pip install --no-deps flspp`. A peer that is missing is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from quality_bar import Verdict, bar
from quality_drawing import draw_profile, draw_tradeoff
from quality_methods import (
    BKMEANS,
    FLSPP,
    KMEANS_1,
    KMEANS_10,
    METHODS,
    OURS,
    Fit,
    limited_threads,
    prepared,
    versions,
)
from quality_report import Results, Run, as_markdown, as_text, headline_table, set_table, spreads
from quality_sets import CLUSTERS, LARGE, Problem, problems

# Where the most seeds that a method gets are not those asked for: a run takes up to a minute.
FEWER = {("mnist", KMEANS_10): 2, ("mnist", BKMEANS): 2, ("mnist", FLSPP): 1, ("mnist", KMEANS_1): 5}
SEEDS_ON_LARGE = 3
PATIENCE = 60.0  # seconds on one set, after which a method gets no further seed


@dataclass
class Benchmark:
    options: argparse.Namespace
    problems: list[Problem]
    fits: dict[str, Fit]
    missing: dict[str, str]
    runs: list[Run] = field(default_factory=list)
    failures: list[dict[str, object]] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    written: float = field(default_factory=time.perf_counter)  # when the results were last

    def seeds(self, problem: str, method: str) -> int:
        asked = self.options.seeds
        if problem == LARGE:
            return min(asked, SEEDS_ON_LARGE)
        if (problem, method) == ("mnist", OURS):
            return 2 * asked  # the bar speaks of the worst of 20
        return min(asked, FEWER.get((problem, method), asked))

    def run_all(self) -> None:
        for problem in self.problems:
            self.run_set(problem)
            print(f"\n{problem.name}: {shape(problem)}, K = {problem.n_clusters}", flush=True)
            print(as_text(set_table(self.results(), problem.name)) if self.ran(problem) else "no run ended well")
            self.write()
            vars(problem).pop("points", None)  # the large set need not stay
            vars(problem).pop("single", None)

    def run_set(self, problem: Problem) -> None:
        names = [
            m.name for m in METHODS if m.name in self.fits and (m.large if problem.name == LARGE else m.small)
        ]
        self.sizes[problem.name] = problem.size
        spent = dict.fromkeys(names, 0.0)
        for seed in range(max(self.seeds(problem.name, name) for name in names) if names else 0):
            turn = seed % len(names)
            for name in names[turn:] + names[:turn]:
                if seed < self.seeds(problem.name, name) and spent[name] < PATIENCE:
                    progress(f"{problem.name}, seed {seed}, {name}")
                    spent[name] += self.run_one(problem, name, seed)
            if time.perf_counter() - self.written > 30:
                self.write()
        for name in names:
            done = sum((run.problem, run.method) == (problem.name, name) for run in self.runs)
            if done != self.options.seeds:
                self.notes.append(f"{problem.name}: {done} seeds for {name}")
        progress("")

    def run_one(self, problem: Problem, name: str, seed: int) -> float:
        points, start_cpu, start = problem.points, time.process_time(), time.perf_counter()
        del points  # loaded before the clock starts
        try:
            centers = self.fits[name](problem, seed)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
            inertia = problem.inertia(centers)
            self.runs.append(Run(problem.name, name, seed, inertia, seconds, cpu_seconds))
        except Exception as error:  # one peer's failure must not cost the others' runs
            message = f"{type(error).__name__}: {error}"[:300]
            self.failures.append({"problem": problem.name, "method": name, "seed": seed, "error": message})
            print(f"\n{problem.name}, seed {seed}, {name} failed: {message}", file=sys.stderr)
        return time.perf_counter() - start

    def ran(self, problem: Problem) -> bool:
        return any(run.problem == problem.name for run in self.runs)

    def results(self) -> Results:
        best_known = {problem.name: problem.best_known for problem in self.problems}
        return Results(self.runs, best_known, self.sizes, "CPU" if self.options.threads == 1 else "wall")

    def bar(self, results: Results) -> list[Verdict]:
        ours = {method.name for method in METHODS if method.ours}
        return bar(results, sum(failure["method"] in ours for failure in self.failures))

    def write(self) -> None:
        if not self.runs:
            return
        results, folder = self.results(), self.options.output
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "quality.json").write_text(json.dumps(self.record(results), indent=1) + "\n")
        (folder / "quality.md").write_text(self.markdown(results))
        draw_profile(results, folder / "quality-profile.svg")
        draw_tradeoff(results, folder / "quality-tradeoff.svg")
        self.written = time.perf_counter()

    def record(self, results: Results) -> dict[str, object]:
        return {
            "date": str(date.today()),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "threads": self.options.threads,
            "seeds": self.options.seeds,
            "judged_by": results.clock,
            "versions": versions(),
            "not_available": self.missing,
            "notes": self.notes,
            "failures": self.failures,
            "better_than_known": results.better_than_known(),
            "bar": [asdict(verdict) for verdict in self.bar(results)],
            "scores": [
                {
                    "problem": problem,
                    "method": method,
                    "mean": score.mean,
                    "worst": score.worst,
                    "spread": score.spread,
                    "seconds": score.seconds,
                    "cpu_seconds": score.cpu_seconds,
                    "time_relative_to_ours": results.relative_time(problem, method, "wall"),
                    "cpu_time_relative_to_ours": results.relative_time(problem, method, "CPU"),
                }
                for (problem, method), score in results.scores.items()
            ],
            "runs": [asdict(run) for run in self.runs],
        }

    def markdown(self, results: Results) -> str:
        what = "".join(f"- {m.name}: `{m.what}`\n" for m in METHODS if m.name in results.methods)
        parts = [
            "# Quality\n",
            f"Mean excess over the best known objective in per cent, over {self.options.seeds} seeds, and in "
            f"brackets the {results.clock} time relative to ours. "
            f"Threads: {self.options.threads}. {date.today()}.\n",
            as_markdown(headline_table(results)) + "\n",
            what,
            self.remarks(results),
            "## The bar\n",
            as_markdown(
                [
                    ["", "claim", "found"],
                    *([v.word, v.claim, v.found] for v in self.bar(results)),
                ]
            )
            + "\n",
            "## Spread over the seeds, max − min, in points\n",
            as_markdown(spreads(results)) + "\n",
        ]
        for problem in results.problems:
            parts += [f"## {problem}\n", as_markdown(set_table(results, problem)) + "\n"]
        return "\n".join(part for part in parts if part)

    def remarks(self, results: Results) -> str:
        lines = [f"{name}: not available, {why}" for name, why in self.missing.items()]
        lines += self.notes
        lines += [
            f"failed: {f['method']} on {f['problem']}, seed {f['seed']}: {f['error']}" for f in self.failures
        ]
        lines += [
            f"{name}: {found:.10g} is lower than the best known, {results.best_known[name]:.10g}"
            for name, found in results.better_than_known().items()
        ]
        return "".join(f"- {line}\n" for line in lines)


def shape(problem: Problem) -> str:
    return "×".join(str(length) for length in problem.points.shape)


def busy(threads: int) -> list[str]:
    """A remark where others use the machine, so that times with several threads say little."""
    load, cores = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0), os.cpu_count() or 1
    if load + threads <= cores + 0.5:
        return []
    return [
        f"the machine was busy at the start (load {load:.1f} on {cores} cores): times with threads are doubtful"
    ]


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def warm_up(fits: dict[str, Fit], problem: Problem) -> None:
    """One fit of each method that is not timed: the first pays for imports and for starting threads."""
    few = Problem("few", 3, lambda: problem.points[:300])
    for name, fit in fits.items():
        try:
            fit(few, 0)
        except Exception as error:
            print(f"{name} fails on a few points: {error}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [method.name for method in METHODS]
    parser.add_argument("--sets", nargs="+", choices=[*CLUSTERS, LARGE], default=list(CLUSTERS), metavar="SET",
                        help=", ".join([*CLUSTERS, LARGE]))  # fmt: skip
    parser.add_argument(
        "--methods", nargs="+", choices=names, default=names, metavar="METHOD", help=", ".join(names)
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--large", action="store_true", help="also the set of a million points")
    options = parser.parse_args()
    sets = list(dict.fromkeys([*options.sets, *([LARGE] if options.large else [])]))
    warnings.simplefilter("ignore")
    chosen = problems(sets)
    fits, missing = prepared(options.methods, options.threads)
    benchmark = Benchmark(options, chosen, fits, missing, notes=busy(options.threads))
    start = time.perf_counter()
    with limited_threads(options.threads):
        warm_up(fits, chosen[0])
        try:
            benchmark.run_all()
        except KeyboardInterrupt:
            print("\nstopped; the results so far:")
            benchmark.write()
    if not benchmark.runs:
        raise SystemExit("no run ended well: " + json.dumps(benchmark.failures or missing))
    results = benchmark.results()
    print("\n" + as_text(headline_table(results)))
    print(f"\nmean excess in per cent ({results.clock} time relative to ours)\n")
    print(benchmark.remarks(results))
    for verdict in benchmark.bar(results):
        print(verdict.line())
    print(f"\n{time.perf_counter() - start:.0f} s; written to {options.output}/quality.*")


if __name__ == "__main__":
    main()
