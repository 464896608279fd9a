"""How often `eulermeans.sweep` recommends the right K, compared with the rules that people use.

    python benchmarks/choosing_k.py [--seeds 10] [--first-seed 1000] [--only ROUND ...] [--output FOLDER]

Draws sets with a known number of clusters, or with none, sweeps K from 2 to 20 and compares the K that each rule
chooses: the sweep's own, the largest silhouette, the largest Calinski-Harabasz, the smallest Davies-Bouldin, the
knee of the objective, the largest K within 0.01 of the highest stability, the largest K with a prediction
strength of 0.8, and the gap statistic. All rules judge the same fits, except the gap statistic, which needs its
own.

If there are no clusters, a rule is right if it says so: the sweep by low confidence, the gap statistic by K = 1,
prediction strength if no K reaches 0.8; the other rules can't. If the right K is not in the range, the sweep is
right if its confidence is not high; the other rules can't say that either.

The rule was developed on seeds 0 to 37 of the same families and on the public sets. The seeds reported are
different ones, but only the families marked new were not used before. Prints a table, and writes it to
choosing_k.md and .json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
from choosing_sets import Family, families, public

from eulermeans import EulerMeans, Sweep, sweep

REFERENCES = 5  # uniform reference sets of the gap statistic
NO_CLUSTERS = 1  # the answer of a rule that finds no clusters
OURS = "sweep"


def column(found: Sweep, name: str) -> np.ndarray:
    return np.array([getattr(row, name) for row in found.rows])


def own(found: Sweep) -> int:
    return NO_CLUSTERS if found.confidence.value == "low" else found.recommended


def at(found: Sweep, place: int) -> int:
    return found.rows[place].n_clusters


def knee(found: Sweep) -> int:
    """Where the objective lies farthest below the line from its first value to its last (Kneedle)."""
    k, objective = column(found, "n_clusters"), column(found, "objective")
    across, down = (k - k[0]) / (k[-1] - k[0]), (objective - objective[-1]) / (objective[0] - objective[-1])
    return int(k[np.argmax(1 - across - down)])


def steadiest(found: Sweep) -> int:
    best = np.nanmax(column(found, "stability"))
    return max(row.n_clusters for row in found.rows if row.stability >= best - 0.01)


def strongest(found: Sweep) -> int:
    good = [row.n_clusters for row in found.rows if row.strength >= 0.8]
    return max(good, default=NO_CLUSTERS)


RULES: dict[str, Callable[[Sweep], int]] = {
    OURS: own,
    "silhouette": lambda found: at(found, int(np.nanargmax(column(found, "silhouette")))),
    "Calinski-Harabasz": lambda found: at(found, int(np.nanargmax(column(found, "calinski_harabasz")))),
    "Davies-Bouldin": lambda found: at(found, int(np.nanargmin(column(found, "davies_bouldin")))),
    "knee": knee,
    "stability": steadiest,
    "prediction strength": strongest,
}
GAP = "gap statistic"


def gap(points: np.ndarray, tried: range, rng: np.random.Generator) -> int:
    """Tibshirani, Walther and Hastie (2001), with references uniform in the box of the principal axes."""
    mean = points.mean(axis=0)
    axes = np.linalg.svd(points - mean, full_matrices=False)[2]
    turned = (points - mean) @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    references = [rng.uniform(low, high, size=turned.shape) for _ in range(REFERENCES)]

    def log_cost(data: np.ndarray, k: int) -> float:
        return float(np.log(EulerMeans(k, effort=0.5, random_state=0, n_threads=1).fit(data).inertia_))

    gaps, errors = [], []
    for k in [1, *tried]:
        expected = [log_cost(reference, k) for reference in references]
        gaps.append(np.mean(expected) - log_cost(turned, k))
        errors.append(np.std(expected) * np.sqrt(1 + 1 / REFERENCES))
        if len(gaps) > 1 and gaps[-2] >= gaps[-1] - errors[-1]:
            return [1, *tried][len(gaps) - 2]
    return tried[-1]


def right(family: Family, found: Sweep, rule: str, answer: int) -> bool:
    if family.outside:
        return rule == OURS and found.confidence.value != "high"
    return answer in family.truth if family.truth else answer == NO_CLUSTERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--only", nargs="*", help="names of families, or their first letters")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument(
        "--again", action="store_true", help="rewrite the tables from choosing_k.json, without new runs"
    )
    options = parser.parse_args()
    if options.again:
        write(json.loads((options.output / "choosing_k.json").read_text()), options)
        return
    runs: list[dict[str, object]] = []
    for family in [*families(), *public()]:
        if options.only and not any(family.name.startswith(name) for name in options.only):
            continue
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            runs.append(run(family, seed))
        say(runs, family)
    write(runs, options)
    print(table(runs))


def run(family: Family, seed: int) -> dict[str, object]:
    points = family.points(seed)
    start = time.process_time()
    found = sweep(points, family.tried, random_state=seed, n_threads=1)
    seconds = time.process_time() - start
    answers = {name: rule(found) for name, rule in RULES.items()}
    answers[GAP] = gap(points, family.tried, np.random.default_rng(seed))
    return {
        "group": family.group,
        "family": family.name,
        "seed": seed,
        "truth": sorted(family.truth),
        "confidence": found.confidence.value,
        "cpu_seconds": round(seconds, 2),
        "answers": answers,
        "right": [name for name, answer in answers.items() if right(family, found, name, answer)],
    }


def say(runs: list[dict], family: Family) -> None:
    own_runs = [run for run in runs if run["family"] == family.name]
    answers = [run["answers"][OURS] for run in own_runs]
    hits = sum(OURS in run["right"] for run in own_runs)
    print(f"{family.name}: {hits} of {len(own_runs)} right: {answers}", file=sys.stderr, flush=True)


def table(runs: list[dict]) -> str:
    """One row for each group, one column for each rule: the fraction of runs in which it was right."""
    rules = [*RULES, GAP]
    groups: dict[str, list[dict]] = defaultdict(list)
    for one in runs:
        groups[one["group"]].append(one)
    lines = ["| data | runs | " + " | ".join(rules) + " |", "| --- | ---: |" + " ---: |" * len(rules)]
    for group, members in groups.items():
        lines.append(line(group, members, rules))
    generated = [one for one in runs if not one["family"][0].isupper()]
    clustered = [one for one in generated if one["truth"] and "tried" not in one["group"]]
    if clustered:
        lines.append(line("**generated, with clusters among those tried**", clustered, rules))
    return "\n".join(lines)


def line(name: str, members: list[dict], rules: list[str]) -> str:
    parts = [f"{sum(rule in one['right'] for one in members) / len(members):.0%}" for rule in rules]
    return f"| {name} | {len(members)} | " + " | ".join(parts) + " |"


def cost() -> str:
    """The cost of a sweep, and what it saves by starting each K from the centers of the previous one."""
    points = np.random.default_rng(0).standard_normal((10_000, 10))
    start = time.process_time()
    found = sweep(points, random_state=0, n_threads=1)
    seconds = time.process_time() - start
    alone = {k: EulerMeans(k, random_state=0, n_threads=1).fit(points) for k in found.models}

    def work(models: dict[int, EulerMeans]) -> int:
        return sum(record.n_distances for model in models.values() for record in model.history_)

    worse = np.mean([model.inertia_ / alone[k].inertia_ for k, model in found.models.items()])
    return (
        f"K = 2 to 20 on 10000 normal points in 10 dimensions took {seconds:.1f} seconds on one core. Its models "
        f"took {work(found.models) / work(alone):.2f} of the distances that fits from scratch take, with a mean "
        f"inertia of {worse:.5f} of theirs."
    )


def write(runs: list[dict], options: argparse.Namespace) -> None:
    seconds = [one["cpu_seconds"] for one in runs]
    seeds = [one["seed"] for one in runs]
    text = (
        "# Choosing K\n\nThe fraction of runs in which each rule was right, measured by "
        f"`python benchmarks/choosing_k.py`, {date.today()}, seeds {min(seeds)} to {max(seeds)}. The rule was "
        "developed on other seeds of the same families, except those marked new, and on the public sets (from "
        "Iris on), whose runs differ only in the seed of the sweep. It is right to say that there are no "
        "clusters, or that the range may be wrong, if that is so; most rules can't. A sweep took a median of "
        f"{np.median(seconds):.1f} seconds on one core, and {np.max(seconds):.1f} at most. {cost()}\n\n"
        f"{table(runs)}\n\n"
    )
    wrong = [one for one in runs if OURS not in one["right"]]
    text += "The K that the sweep chose where it was wrong: " + "; ".join(
        f"{one['family']} {one['seed']}: {one['answers'][OURS]} ({one['confidence']})" for one in wrong
    )
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "choosing_k.md").write_text(text + ".\n")
    (options.output / "choosing_k.json").write_text(json.dumps(runs, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
