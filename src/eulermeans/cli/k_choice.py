"""The number of clusters: given, or chosen by a sweep over several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from .errors import Interrupted, print_line

if TYPE_CHECKING:
    from ..choosing import Row, Sweep
    from ..estimators import EulerMeans, SizedMeans
    from ..sources import Source
    from .input_data import InputData

AUTOMATIC = range(2, 21)  # what `-k auto` tries


@dataclass(frozen=True)
class ClusterNumbers:
    """The numbers of clusters to try; if there is one, it is taken."""

    tried: tuple[int, ...]
    may_shrink: bool = False  # whether numbers above that of the rows are left out

    @property
    def given(self) -> int | None:
        """The number, if there is nothing to choose."""
        return self.tried[0] if len(self.tried) == 1 else None


@dataclass(frozen=True)
class Chosen:
    """The sweep that chose a number."""

    sweep: Sweep
    interrupted: bool


def parse_clusters(text: str) -> ClusterNumbers:
    """What `-k` means: 5, auto, 2:12, 2:20:3 or 2,4,8."""
    text = text.strip()
    if text.lower() == "auto":
        return ClusterNumbers(tuple(AUTOMATIC), may_shrink=True)
    if text.isdecimal() and int(text) > 0:
        return ClusterNumbers((int(text),))
    try:
        from ..choosing import k_values

        return ClusterNumbers(tuple(k_values(text)))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a number of clusters; give one such as 5, a range to choose from such as 2:12 or "
            "2,4,8, or auto.",
            param_hint="'--clusters' / '-k'",
        ) from None


def within_bounds(numbers: ClusterNumbers, estimator: EulerMeans | SizedMeans, data: InputData) -> ClusterNumbers:
    """Those numbers that bounds on sizes allow. If they allow none of `auto`, the nearest that they allow."""
    from ..estimators import SizedMeans
    from ..estimators.size_bounds import possible_numbers

    if not isinstance(estimator, SizedMeans) or numbers.given is not None:
        return numbers
    data.progress.begin("counting rows")
    if data.n_rows is None:
        for _ in data.chunks():
            data.interrupt.check()
    n_rows, weighted = data.n_rows or 0, data.selection.weights is not None
    total = data.total_weight if weighted else n_rows
    possible = possible_numbers(estimator.size_min, estimator.size_max, total, n_rows, whole=not weighted)
    tried = [number for number in numbers.tried if number in possible]
    if not tried and numbers.may_shrink and possible:
        tried = list(possible[: len(AUTOMATIC)] if possible[0] > AUTOMATIC[-1] else possible[-1:])
    what = f"{total:g} of weight" if weighted else f"{n_rows:,} rows"
    if not tried:
        can = f"allow {_span(possible)} clusters" if possible else "allow no number of clusters"
        raise ValueError(f"the bounds on sizes {can} for {what}; -k tries {_span(numbers.tried)}")
    if len(tried) < len(numbers.tried) or tried[0] not in numbers.tried:
        print_line(f"note: the bounds on sizes allow {_span(possible)} clusters; tries {_span(tried)}")
    return ClusterNumbers(tuple(tried), numbers.may_shrink)


def _span(numbers: Sequence[int]) -> str:
    """The first and the last number."""
    return f"{numbers[0]:,} to {numbers[-1]:,}" if len(numbers) > 1 else f"{numbers[0]:,}"


def choose_clusters(
    numbers: ClusterNumbers, source: Source, data: InputData, estimator: EulerMeans, max_time: float | None
) -> Chosen:
    """Try each number. After Ctrl-C, recommend one of those that were tried."""
    tried = list(numbers.tried)
    try:
        return _run(tried, source, data, estimator, max_time)
    except ValueError:
        if not numbers.may_shrink or data.n_rows is None or tried[-1] <= data.n_rows:
            raise
        fewer = [number for number in tried if number <= data.n_rows // 2] or tried[:1]
        return _run(fewer, source, data, estimator, max_time)


def _run(
    tried: list[int], source: Source, data: InputData, estimator: EulerMeans, max_time: float | None
) -> Chosen:
    from ..choosing import Sweep, recommend, sweep

    rows: list[Row] = []

    def on_result(row: Row) -> None:
        rows.append(row)
        data.progress.begin(f"K = {row.n_clusters}")
        data.progress.step(0, row.objective, 0)
        data.progress.begin(f"K = {tried[len(rows)]}" if len(rows) < len(tried) else "choosing K")
        data.interrupt.check()

    seed = estimator.random_state
    try:
        found = sweep(
            source, tried, estimator=estimator, random_state=seed, max_time=max_time, on_result=on_result
        )
    except Interrupted:
        if not rows:
            raise
        advice = recommend(rows)
        found = Sweep(
            rows=tuple(rows),
            recommended=advice.n_clusters,
            confidence=advice.confidence,
            reason=advice.reason,
            models={},
            n_points=data.n_rows or 0,
            skipped=tuple(tried[len(rows) :]),
        )
        return Chosen(found, interrupted=True)
    return Chosen(found, interrupted=False)
