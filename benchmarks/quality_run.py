"""Runs the methods of a regime in turn and records what they find and how long they take."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from quality_methods import METHODS, Fit, installed_version
from quality_regimes import Regime
from quality_results import ProblemFacts, Record, Run
from quality_sets import Data, Problem

SAVE_EVERY = 30.0  # seconds


@dataclass
class Runner:
    """Fills a record. The methods take turns, so that a busy machine slows all of them alike."""

    regime: Regime
    record: Record
    fits: dict[str, Fit]
    seeds: int | None  # None: the regime's own number
    patience: float  # seconds on a problem after which a method gets no further seed
    deadline: float  # by time.perf_counter(); no run starts after it
    save: Callable[[], None]
    saved: float = field(default_factory=time.perf_counter)

    def run(self, problem: Problem) -> None:
        self.record.problems[problem.name] = ProblemFacts.of(problem)
        problem.data.preload()
        names = list(self.fits)
        seeds = {name: self.regime.seeds_of(name, self.seeds) for name in names}
        spent = dict.fromkeys(names, 0.0)
        for seed in range(max(seeds.values(), default=0)):
            turn = seed % len(names)
            for name in names[turn:] + names[:turn]:
                if seed < seeds[name] and spent[name] < self.patience and time.perf_counter() < self.deadline:
                    progress(f"{problem.name}, seed {seed}, {name}")
                    if seed == 0:
                        self.record.drop(problem.name, name)
                    spent[name] += self.run_one(problem, name, seed)
                    self.save_now_and_then()
        progress("")
        if time.perf_counter() >= self.deadline:
            self.record.notes.append(f"{problem.name}: the time limit was reached; some runs are missing")

    def run_one(self, problem: Problem, name: str, seed: int) -> float:
        start_cpu, start = time.process_time(), time.perf_counter()
        try:
            centers = self.fits[name](problem, seed)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
            run = Run(problem.name, name, seed, problem.inertia(centers), seconds, cpu_seconds)
            self.record.runs.append(run)
            method = METHODS[name]
            self.record.methods[name] = {
                "what": method.what,
                "version": installed_version(method.package),
                "date": str(date.today()),
            }
        except Exception as error:  # a failure of one method must not end the others' runs
            seconds, message = time.perf_counter() - start, f"{type(error).__name__}: {error}"[:300]
            self.record.failures.append({"problem": problem.name, "method": name, "seed": seed, "error": message})
            print(f"\n{problem.name}, seed {seed}, {name} failed: {message}", file=sys.stderr)
        return seconds

    def save_now_and_then(self) -> None:
        if time.perf_counter() - self.saved > SAVE_EVERY:
            self.save()
            self.saved = time.perf_counter()


def warm_up(fits: dict[str, Fit], problem: Problem) -> None:
    """One fit of each method that is not timed: the first pays for imports and for starting threads."""
    few = Problem(Data("few", lambda: problem.data.points[:300]), 3)
    for name, fit in fits.items():
        try:
            fit(few, 0)
        except Exception as error:
            print(f"{name} fails on 300 points: {error}", file=sys.stderr)


def load_notes(threads: int) -> list[str]:
    """A note if others use the machine, so that times with several threads are doubtful."""
    load, cores = (os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0), os.cpu_count() or 1
    if load + threads <= cores + 0.5:
        return []
    return [f"{date.today()}: the machine was busy at the start (load {load:.1f} on {cores} cores); "
            "times with several threads are doubtful"]  # fmt: skip


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
