"""How small a gap `eulermeans.certify` proves, and in what time.

    python benchmarks/certificate.py [--only iris ruspini gr202 gaussians mnist] [--output FOLDER]

Clusters each set with `EulerMeans`, certifies the result within the time that the set has, and prints a table: the
inertia, the lower bound, the gap, the seconds and the processor seconds, and after how many seconds the gap was
within the goal. For Iris, Ruspini and the 202 cities the optimum is known (du Merle and others, 2000; Aloise,
Hansen and Liberti, 2012). Writes certificate.json, certificate.md and certificate.png (docs/certificate.png).
Needs the folder of data sets: EULERMEANS_DATA or ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import numpy as np

from eulermeans import Certificate, EulerMeans, certify
from eulermeans.datasets.paper_data import iris, mnist, paper_gaussians

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.setdefault("EULERMEANS_DATA", str(ROOT.parent / "shared" / "data")))
SETS = ("iris", "ruspini", "gr202", "gaussians", "mnist")


@dataclass(frozen=True)
class Case:
    name: str
    points: np.ndarray  # (n_points, n_features)
    n_clusters: int
    goal: float  # the gap to reach
    seconds: float
    confidence: float | None = None
    optimum: float | None = None  # to six digits, where it is known


@dataclass(frozen=True)
class Result:
    set: str
    n_points: int
    n_features: int
    n_clusters: int
    inertia: float
    lower_bound: float
    gap: float
    proven: bool
    confidence: float | None
    method: str
    goal: float
    seconds: float
    processor_seconds: float
    seconds_to_goal: float | None  # None: the goal was not reached
    optimum: float | None
    valid: bool | None  # whether the bound is at most the known optimum
    history: list[tuple[float, float]]  # seconds and gap


def cases(chosen: list[str]) -> Iterator[Case]:
    lines = (DATA / "certified" / "optima.tsv").read_text(encoding="utf-8").splitlines()
    optima = dict(line.split("\t") for line in lines if not line.startswith("#"))
    goals = {"iris": 0.01, "ruspini": 0.01, "gr202": 0.03}
    for name in [name for name in chosen if name in goals]:
        points = iris() if name == "iris" else np.load(DATA / "certified" / f"{name}.npy").astype(float)
        for k in range(2, 11):
            yield Case(name, points, k, goals[name], 60, optimum=float(optima[f"{name}/{k}"]))
    if "gaussians" in chosen:
        yield Case("gaussians", paper_gaussians(0, 2500), 4, 0.01, 60)
    if "mnist" in chosen:
        yield Case("mnist", mnist().points, 10, 0.15, 120, confidence=0.99)


def run(case: Case) -> tuple[Result, Certificate]:
    search = {"effort": 0, "n_init": 500} if len(case.points) < 1000 else {}  # many restarts find the optimum
    model = EulerMeans(case.n_clusters, **search, random_state=0).fit(case.points)
    began = time.process_time()
    found = certify(
        case.points, model, max_time=case.seconds, confidence=case.confidence, random_state=0, n_threads=2
    )
    processor = time.process_time() - began
    gaps = [(step.seconds, 1 - step.lower_bound / found.inertia) for step in found.history]
    optimum = case.optimum
    result = Result(
        case.name,
        *case.points.shape,
        case.n_clusters,
        found.inertia,
        found.lower_bound,
        found.gap,
        found.proven,
        found.confidence,
        found.method,
        case.goal,
        found.seconds,
        processor,
        next((seconds for seconds, gap in gaps if gap <= case.goal), None),
        optimum,
        None if optimum is None else found.lower_bound <= optimum * (1 + 1e-5),
        gaps,
    )
    return result, found


def table(results: list[Result]) -> str:
    lines = [
        "| set | points | K | inertia | optimum | lower bound | gap | certainty | goal | goal reached after | "
        "seconds | processor |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        reached = "not reached" if r.seconds_to_goal is None else f"{r.seconds_to_goal:.1f} s"
        certainty = "proven" if r.proven else f"{r.confidence:.0%}"
        optimum = "" if r.optimum is None else f"{r.optimum:.6g}"
        lines.append(
            f"| {r.set} | {r.n_points}×{r.n_features} | {r.n_clusters} | {r.inertia:.6g} | {optimum} | "
            f"{r.lower_bound:.6g} | {r.gap:.4%} | {certainty} | {r.goal:.0%} | {reached} | {r.seconds:.1f} | "
            f"{r.processor_seconds:.1f} |"
        )
    for name in dict.fromkeys(r.set for r in results):
        gaps = [r.gap for r in results if r.set == name]
        lines.append(f"\n{name}: largest gap {max(gaps):.4%}, median {float(np.median(gaps)):.4%}")
    return "\n".join(lines)


def draw(results: list[Result], path: Path) -> None:
    from matplotlib.figure import Figure

    from eulermeans.plot.style import PALETTE, finish

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    chosen = [r for r in results if (r.set, r.n_clusters) in {("iris", 3), ("ruspini", 4), ("gr202", 6)}]
    chosen += [r for r in results if r.set in ("gaussians", "mnist")]
    names = {
        "iris": "Iris",
        "ruspini": "Ruspini",
        "gr202": "202 cities",
        "gaussians": "four Gaussians",
        "mnist": "MNIST",
    }
    for color, r in zip(PALETTE, chosen, strict=False):
        seconds = [max(s, 0.02) for s, _ in r.history] + [r.seconds]
        gaps = [max(100 * gap, 1e-3) for _, gap in r.history] + [max(100 * r.gap, 1e-3)]
        label = f"{names[r.set]}, K = {r.n_clusters}"
        left.step(seconds, gaps, where="post", color=color, linewidth=1.8, label=label)
    left.set(xscale="log", yscale="log", ylim=(8e-4, 150))
    left.legend(frameon=False, fontsize=8, loc="lower left")
    finish(left, title="The gap over time", xlabel="seconds", ylabel="gap, %", grid="y")
    for color, name in zip(PALETTE, ("iris", "ruspini", "gr202"), strict=False):
        own = [r for r in results if r.set == name]
        gaps = [max(100 * r.gap, 1e-4) for r in own]
        right.plot([r.n_clusters for r in own], gaps, "o-", color=color, label=names[name])
    right.axhline(1, color="#6e7781", linewidth=0.8, linestyle="--")
    right.set(yscale="log", ylim=(8e-5, 5))
    right.legend(frameon=False, fontsize=8, loc="lower right")
    finish(right, title="The gap at the end, at most 60 s for each", xlabel="K", ylabel="gap, %", grid="y")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks" / "results")
    arguments = parser.parse_args()
    results: list[Result] = []
    for case in cases(arguments.only):
        result, found = run(case)
        results.append(result)
        print(f"{case.name}/{case.n_clusters}: {found} ({found.seconds:.1f} s)", flush=True)
    text = table(results)
    print(text)
    machine = {"date": date.today().isoformat(), "cores": os.cpu_count(), "processor": platform.processor()}
    record = {"machine": machine, "results": [asdict(result) for result in results]}
    (arguments.output / "certificate.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    heading = f"# Gaps proven by `certify`\n\n{machine['date']}, {machine['cores']} cores.\n\n"
    (arguments.output / "certificate.md").write_text(f"{heading}{text}\n", encoding="utf-8")
    draw(results, arguments.output / "certificate.png")


if __name__ == "__main__":
    main()
