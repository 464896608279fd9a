"""The results of the quality benchmark as tables and as Markdown."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from quality_bar import HIT, Verdict
from quality_curves import at_equal_time
from quality_growth import Growth, growths
from quality_regimes import REGIMES
from quality_results import Results, fixed

Table = list[list[str]]

INTRODUCTION = """# Quality

How low the objective is that `EulerMeans` finds, and how soon, compared with what people use now. Written by
`python benchmarks/quality.py`.

The first table of each regime has the *excess*: how many per cent the sum of squared distances is above the best
known, as a mean over the seeds. If these runs found a lower one, or if none is known, it is relative to the best
of these runs. In brackets: the time relative to ours. Times are medians.
"""
PICTURES = {
    "sets": ["quality-profile.svg", "quality-tradeoff.svg"],
    "heldout": ["quality-heldout-profile.svg"],
    "curves": ["quality-curves.svg"],
    "growth": ["quality-growth.svg"],
}


def headline_table(results: Results) -> Table:
    """Mean excess in per cent, and in brackets the time relative to ours."""
    rows = [["set/K", *results.methods]]
    for problem in results.problems:
        row = [problem]
        for method in results.methods:
            score, ratio = results.score(problem, method), results.relative_time(problem, method)
            row.append(
                "-" if score is None else fixed(score.mean, 2) + ("" if ratio is None else f" ({ratio:.1f})")
            )
        rows.append(row)
    return rows


def detail_table(results: Results, problems: list[str]) -> Table:
    proven = any(results.facts[name].proven for name in problems)
    rows = [
        ["set/K", "method", "seeds", *(["hits %"] if proven else []), "mean %", "worst %", "spread", "objective",
         "seconds", "CPU seconds", "time / ours"]
    ]  # fmt: skip
    for problem in problems:
        n_points = results.facts[problem].n_points
        for method in results.methods:
            score, ratio = results.score(problem, method), results.relative_time(problem, method)
            if score is None:
                continue
            hits = 100 * sum(excess <= HIT for excess in score.excesses) / len(score.excesses)
            rows.append(
                [
                    problem,
                    method,
                    str(len(score.excesses)),
                    *([f"{hits:.0f}"] if proven else []),
                    *(fixed(value, 3) for value in (score.mean, score.worst, score.spread)),
                    f"{score.inertia / (2 * n_points):.5g}",
                    *(f"{value:.3f}" for value in (score.seconds, score.cpu_seconds)),
                    "-" if ratio is None else f"{ratio:.2f}",
                ]
            )
    return rows


def equal_time_table(results: Results) -> Table:
    rows = [["set/K", "peer", "seconds", "excess %", "our effort within its time", "our seconds", "our excess %"]]
    for row in at_equal_time(results):
        ours = (
            ["all took longer", "-", "-"]
            if row.effort is None
            else [f"{row.effort:g}", f"{row.our_seconds:.3f}", f"{row.our_excess:.3f}"]
        )
        rows.append([row.problem, row.peer, f"{row.seconds:.3f}", f"{row.excess:.3f}", *ours])
    return rows


def growth_table(found: list[Growth]) -> Table:
    rows = [["data", "grows with", "method", "sizes", "seconds", "exponent"]]
    for growth in found:
        seconds = ", ".join(f"{value:.3g}" for value in growth.seconds)
        sizes = ", ".join(map(str, growth.sizes))
        rows.append([growth.title, growth.along, growth.method, sizes, seconds, f"{growth.exponent:.2f}"])
    return rows


def bar_table(verdicts: list[Verdict]) -> Table:
    return [["", "claim", "found"], *([v.word, v.claim, v.found] for v in verdicts)]


def summary_table(all_results: dict[str, Results]) -> Table:
    rows = [["regime", "met", "missed", "not judged", "missed claims"]]
    for name, results in all_results.items():
        verdicts = REGIMES[name].verdicts(results)
        words = [verdict.word for verdict in verdicts]
        missed = "; ".join(verdict.claim for verdict in verdicts if verdict.met is False)
        rows.append([name, *(str(words.count(word)) for word in ("met", "MISSED", "not judged")), missed or "-"])
    return rows


def as_markdown(rows: Table, n_words: int = 1) -> str:
    """The first `n_words` columns are words, the others numbers."""
    rule = ["---"] * n_words + ["---:"] * (len(rows[0]) - n_words)
    return "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]]) + "\n"


def as_text(rows: Table) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(lines)


def markdown(all_results: dict[str, Results]) -> str:
    parts = [INTRODUCTION, "## The bar\n", as_markdown(summary_table(all_results), 5)]
    for name, results in all_results.items():
        parts += regime_parts(name, results)
    return "\n".join(part for part in parts if part)


def regime_parts(name: str, results: Results) -> list[str]:
    regime, record = REGIMES[name], results.record
    dates = sorted({facts["date"] for facts in record.methods.values()})
    measured = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "never"
    pictures = [f"![{regime.title}]({picture})\n" for picture in PICTURES.get(name, [])]
    parts = [
        f"## {regime.title}\n",
        f"`--regime {name} --threads {record.threads}`, measured {measured}. Times are {results.clock} times.\n",
        as_markdown(headline_table(results)),
        *pictures,
        "### Bar\n",
        as_markdown(bar_table(regime.verdicts(results)), 3),
        remarks(results),
    ]
    if name == "curves":
        parts += ["### At equal time\n", as_markdown(equal_time_table(results), 2)]
    found = growths(results, "K") + growths(results, "N")
    if found and name in ("growth", "clusters"):
        parts += ["### Growth: seconds ~ size^exponent\n", as_markdown(growth_table(found), 3)]
    details = as_markdown(detail_table(results, results.problems), 2)
    return [*parts, f"<details><summary>All figures</summary>\n\n{details}\n</details>\n"]


def remarks(results: Results) -> str:
    record = results.record
    lines = [f"{name} {facts['version']}: `{facts['what']}`" for name, facts in record.methods.items()]
    lines += [f"{name}: not available, {why}" for name, why in record.missing.items()]
    lines += record.notes
    lines += [f"failed: {f['method']} on {f['problem']}, seed {f['seed']}: {f['error']}" for f in record.failures]
    lines += [
        f"{name}: {found:.10g} is lower than the best known, {results.facts[name].best_known:.10g}"
        for name, found in results.better_than_known().items()
    ]
    return "".join(f"- {line}\n" for line in lines)


def stored(name: str, results: Results) -> dict[str, Any]:
    """A regime's part of quality.json."""
    return results.record.stored() | {
        "better_than_known": results.better_than_known(),
        "bar": [asdict(verdict) for verdict in REGIMES[name].verdicts(results)],
        "growth": [asdict(growth) for along in ("K", "N") for growth in growths(results, along)],
        "equal_time": [asdict(row) for row in at_equal_time(results)] if name == "curves" else [],
        "scores": results.scores_stored(),
    }
