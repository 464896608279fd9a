"""How low the objective is that EulerMeans finds, and how soon, compared with what people use now.

    python benchmarks/quality.py --regime sets mnist      # some of them
    python benchmarks/quality.py --regime all             # everything: several hours
    python benchmarks/quality.py --regime clusters --methods eulermeans   # ours again, beside the stored peers
    python benchmarks/quality.py --report                 # only tables and pictures, from the stored runs

    optima    27 small problems whose optima are proven
    sets      the public benchmark sets, default and effort 10
    mnist     MNIST with K = 10, 20 seeds
    clusters  embeddings and MNIST with K = 500 to 4000
    million   1,000,000×64 points with K = 64, 256 and 1024
    sparse    TF-IDF of short texts with K = 20 and 100
    stream    partial_fit in batches of 1000
    heldout   sets that nothing in the project was tuned on
    groups    Gaussians far apart in 16 to 300 features
    curves    objective against seconds: effort 0, 0.3, 1, 3 and 10, and the peers
    growth    how the time grows with K and with N

Every method runs with every seed on every problem. The objective is recomputed in float64 from the centers that a
method returns. Times are medians: wall times, or with one thread CPU times, which other work on the machine
disturbs least. (With more threads than idle cores the peers wait for each other's threads many times longer than
they compute: use `--threads 1`.)

Prints tables and the project's bar, and writes quality.json, quality.md and pictures to the output folder. Stored
runs of other regimes, problems and methods are kept, unless the regime's had another number of threads.

The peers are in the dependency group `bench`, but for flspp, which asks for an old NumPy that it does not need:
`pip install --group bench && pip install --no-deps flspp`. A peer that is missing is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

from quality_drawing import draw_curves, draw_growth, draw_profile, draw_tradeoff
from quality_growth import growths
from quality_methods import METHODS, limited_threads, prepared
from quality_regimes import REGIMES, Regime
from quality_report import as_text, detail_table, markdown, stored, summary_table
from quality_results import Record, Results
from quality_run import Runner, load_notes, warm_up
from quality_sets import Problem

RESULTS = Path(__file__).parent / "results"


class Store:
    """quality.json and what is made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "quality.json"
        self.records: dict[str, Record] = {}
        if self.path.is_file():
            regimes = json.loads(self.path.read_text()).get("regimes", {})
            self.records = {name: Record.load(regimes[name]) for name in REGIMES if name in regimes}

    def record(self, regime: str, threads: int) -> Record:
        """The regime's record; an empty one if its runs had another number of threads."""
        record = self.records.get(regime)
        if record is None or record.threads != threads:
            record = self.records[regime] = Record(regime, threads)
        return record

    def results(self) -> dict[str, Results]:
        """Of each regime that has runs."""
        ran = [name for name in REGIMES if name in self.records and self.records[name].runs]
        return {name: Results(self.records[name]) for name in ran}

    def save(self) -> None:
        content = {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "regimes": {name: stored(name, results) for name, results in self.results().items()},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".json.tmp")  # whoever stops us here loses no earlier runs
        rounded = json.loads(json.dumps(content), parse_float=lambda text: float(f"{float(text):.10g}"))
        unfinished.write_text(json.dumps(rounded, separators=(",", ":")) + "\n")
        unfinished.replace(self.path)

    def report(self) -> None:
        """Markdown and pictures."""
        results = self.results()
        (self.folder / "quality.md").write_text(markdown(results))
        tuned = [results[name] for name in ("sets", "mnist") if name in results]
        if tuned:
            title = "How often a method comes how near to the best known"
            draw_profile(tuned, self.folder / "quality-profile.svg", title)
            draw_tradeoff(tuned, self.folder / "quality-tradeoff.svg")
        if "heldout" in results:
            title = "The same on held-out sets"
            draw_profile([results["heldout"]], self.folder / "quality-heldout-profile.svg", title)
        if "curves" in results:
            draw_curves(results["curves"], self.folder / "quality-curves.svg")
        growing = [results[name] for name in ("clusters", "growth") if name in results]
        found = [growth for along in ("K", "N") for of_regime in growing for growth in growths(of_regime, along)]
        if found:
            draw_growth(found, self.folder / "quality-growth.svg")


def run_regime(regime: Regime, options: argparse.Namespace, store: Store) -> None:
    record = store.record(regime.name, options.threads)
    names = [name for name in regime.methods if not options.methods or name in options.methods]
    fits, record.missing = prepared(names, options.threads)
    record.notes = load_notes(options.threads)
    known = regime.problems()
    problems = [problem for problem in known if chosen(problem, options.problems)]
    runner = Runner(
        regime,
        record,
        fits,
        options.seeds,
        regime.patience if options.patience is None else options.patience,
        time.perf_counter() + options.time_limit,
        store.save,
    )
    with limited_threads(options.threads):
        for i, problem in enumerate(problems):
            if i == 0:
                warm_up(fits, problem)
            runner.run(problem)
            record.keep([each.name for each in known], list(regime.methods))
            store.save()
            print_problem(Results(record), problem)
            if all(problem.data is not later.data for later in problems[i + 1 :]):
                problem.data.unload()


def chosen(problem: Problem, names: list[str] | None) -> bool:
    return names is None or problem.name in names or problem.data.name in names


def print_problem(results: Results, problem: Problem) -> None:
    if problem.name not in results.problems:
        print(f"\n{problem.name}: no run ended well", flush=True)
        return
    facts = results.facts[problem.name]
    print(f"\n{problem.name}: {facts.n_points}×{facts.n_features}, K = {facts.n_clusters}")
    print(as_text(detail_table(results, [problem.name])), flush=True)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)  # argparse says which option and what was given
    return number


def parsed() -> argparse.Namespace:
    text = (__doc__ or "").split("\n\n")
    parser = argparse.ArgumentParser(
        description=text[0], epilog=text[2], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--regime", nargs="+", choices=[*REGIMES, "all"], default=["sets"], metavar="REGIME",
        help="see below, or all (default: sets)")  # fmt: skip
    add("--problems", nargs="+", metavar="NAME", help="only these, such as D31, mnist/500 (default: all)")
    add("--methods", nargs="+", choices=list(METHODS), metavar="METHOD", help=", ".join(METHODS))
    add("--seeds", type=positive, help="for each method on each problem (default: the regime's)")
    add("--threads", type=positive, default=os.cpu_count() or 1, help="(default: %(default)s)")
    add("--patience", type=float, metavar="SECONDS",
        help="on a problem, after which a method gets no further seed (default: the regime's)")  # fmt: skip
    add("--time-limit", type=float, default=float("inf"), metavar="SECONDS",
        help="for a regime, after which no run starts (default: none)")  # fmt: skip
    add("--output", type=Path, default=RESULTS, help="folder (default: benchmarks/results)")
    add("--report", action="store_true", help="run nothing; rewrite tables and pictures")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    warnings.simplefilter("ignore")
    store, start = Store(options.output), time.perf_counter()
    names = list(REGIMES) if "all" in options.regime else list(dict.fromkeys(options.regime))
    check_problems(names, options.problems)
    try:
        for name in [] if options.report else names:
            run_regime(REGIMES[name], options, store)
            store.report()
    except KeyboardInterrupt:
        print("\nstopped; the results so far:")
    results = store.results()
    if not results:
        raise SystemExit(f"no run ended well, and {store.path} has none")
    store.save()
    store.report()
    for name in results if options.report else [name for name in names if name in results]:
        print(f"\n{REGIMES[name].title}")
        for verdict in REGIMES[name].verdicts(results[name]):
            print(verdict.line())
    print("\n" + as_text([row[:-1] for row in summary_table(results)]))
    print(f"\n{time.perf_counter() - start:.0f} s; written to {options.output}/quality.*")


def check_problems(regimes: list[str], names: list[str] | None) -> None:
    problems = [problem for regime in regimes for problem in REGIMES[regime].problems()] if names else []
    for name in names or []:
        if not any(chosen(problem, [name]) for problem in problems):
            known = ", ".join(dict.fromkeys(problem.name for problem in problems))
            raise SystemExit(f"--problems {name}: the chosen regimes have {known}")


if __name__ == "__main__":
    main()
