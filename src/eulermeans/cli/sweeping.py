"""`eulermeans sweep`: which number of clusters to take."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..choosing import Row, Sweep, k_values, recommend, sweep
from ..estimators import EulerMeans
from ..files import replacing
from ..optional import optional
from ..persistence import SavedModel, save
from .data import Wanted, opened
from .interrupts import Interrupt, Interrupted
from .options import Scale
from .progress import Progress
from .scaling import fit_scaler, scaled
from .summary import show_json, show_line

_PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class SweepRequest:
    """What `eulermeans sweep` was asked for."""

    wanted: Wanted
    n_clusters: str
    command: str  # to repeat it
    output: Path | None = None  # for the model of the recommended K
    plot: Path | None = None
    scale: Scale = Scale.none
    seed: int = 0
    max_time: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)  # of the estimator


@dataclass(frozen=True)
class Swept:
    """What a sweep gave."""

    sweep: Sweep
    n_rows: int | None
    interrupted: bool
    files: dict[str, str] = field(default_factory=dict)  # what was written: model, plot

    def show(self, *, as_json: bool) -> None:
        """All of it, or a table and the recommendation."""
        found = self.sweep
        if as_json:
            show_json(
                {
                    "recommended": found.recommended,
                    "confidence": str(found.confidence),
                    "reason": found.reason,
                    "n_rows": self.n_rows,
                    "n_points": found.n_points,
                    "rows": [_as_json(row) for row in found.rows],
                    "skipped": list(found.skipped),
                    **self.files,
                    "interrupted": self.interrupted,
                }
            )
            return
        for line in str(found).splitlines():
            print(line)
        if self.n_rows is not None and found.n_points < self.n_rows:
            show_line(f"A sample of {found.n_points:,} of {self.n_rows:,} rows was clustered.")
        if found.skipped:
            why = "stopped by Ctrl-C" if self.interrupted else "no time was left"
            show_line(f"Not tried, since {why}: K = {', '.join(map(str, found.skipped))}.")
        for kind, path in self.files.items():
            show_line(f"{kind.capitalize()}: {path}")


def run_sweep(request: SweepRequest, progress: Progress) -> Swept:
    """Try every K, and write what was asked for."""
    tried = k_values(request.n_clusters)
    _check_targets(request)
    interrupt = Interrupt(progress.stop)
    rows: list[Row] = []

    def on_result(row: Row) -> None:
        rows.append(row)
        progress.begin(f"K = {row.n_clusters}")
        progress.step(0, row.objective, 0)
        progress.begin(f"K = {tried[len(rows)]}" if len(rows) < len(tried) else "choosing")
        interrupt.check()

    with interrupt.heard(), opened(request.wanted, progress, interrupt) as data:
        scaler = fit_scaler(request.scale, data.source, progress)
        try:
            found = sweep(
                scaled(data.source, scaler),
                tried,
                estimator=EulerMeans(**request.parameters),
                random_state=request.seed,
                max_time=request.max_time,
                on_result=on_result,
            )
        except Interrupted:
            if not rows:
                raise
            advice = recommend(rows)
            skipped = tuple(tried[len(rows) :])
            n_points = data.source.counted or 0
            found = Sweep(tuple(rows), advice.n_clusters, advice.confidence, advice.reason, {}, n_points, skipped)
            return Swept(found, data.source.counted, interrupted=True)
        return Swept(found, data.source.counted, interrupted=False, files=_write(request, found, scaler))


def _check_targets(request: SweepRequest) -> None:
    for path in (request.output, request.plot):
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(f"can't write {path}: there is no folder {path.parent}")
    if request.plot is not None:
        if request.plot.suffix.lower() not in _PICTURES:
            raise ValueError(f"can't draw {request.plot}: the ending must be one of {', '.join(_PICTURES)}")
        optional("matplotlib", "plot")


def _write(request: SweepRequest, found: Sweep, scaler: Any) -> dict[str, str]:
    files = {}
    if request.output is not None:
        if scaler is not None:  # as in a Pipeline: the first step meets the named columns
            found.model.__dict__.pop("feature_names_in_", None)
        notes = {"command": request.command, "data": request.wanted.title, "rows": found.n_points}
        save(SavedModel(found.model, scaler).whole, request.output, notes=notes)
        files["model"] = str(request.output)
    if request.plot is not None:
        with replacing(request.plot) as partial:
            found.plot().flat[0].figure.savefig(partial)
        files["plot"] = str(request.plot)
    return files


def _as_json(row: Row) -> dict[str, Any]:
    """JSON has no NaN; what is not defined is null there."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(row).items()
    }
