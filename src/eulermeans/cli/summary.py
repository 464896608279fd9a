"""Results on stdout: a table for people, or one JSON object for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..history import StopReason
from ..storage.models import SavedModel
from .words import duration, one_line

_MOST_CLUSTERS = 50  # in a table
_NUMBER, _BESIDE = 12, 30  # characters of a number in a table, and of what stands before the numbers


@dataclass(frozen=True)
class Fitted:
    """What a fit gave."""

    model: SavedModel
    model_path: Path
    n_rows: int | None
    seconds: float
    interrupted: bool = False
    files: dict[str, str] = field(default_factory=dict)  # what else was written: labels, report

    def show(self, *, as_json: bool) -> None:
        """All of it, or what a person wants to see."""
        if as_json:
            show_json(
                {
                    "model": str(self.model_path),
                    **self.files,
                    "n_rows": self.n_rows,
                    **described(self.model),
                    "command": self.model.notes["command"],
                    "seconds": round(self.seconds, 3),
                    "interrupted": self.interrupted,
                }
            )
            return
        rows = "" if self.n_rows is None else f"{self.n_rows:,} rows, "
        stopped = self.model.estimator.stop_reason_ is StopReason.CALLBACK
        ending = "stopped by Ctrl-C: these are the best centers so far" if stopped else None
        show_model(self.model, first=f"{rows}{{what}}, {duration(self.seconds)}", ending=ending)
        for kind, path in {"model": str(self.model_path), **self.files}.items():
            show_line(f"{kind.capitalize()}: {path}")
        if self.interrupted:
            show_line("No more was written; `eulermeans predict` and `report` go on from the model.")


def described(model: SavedModel) -> dict[str, Any]:
    """What is known of a model, as JSON has it. Centers are in the units of the data."""
    estimator = model.estimator
    weights = getattr(estimator, "cluster_weights_", None)
    return {
        "n_clusters": estimator.n_clusters,
        "n_features": estimator.n_features_in_,
        "feature_names": model.feature_names,
        "objective": getattr(estimator, "objective_", None),
        "inertia": getattr(estimator, "inertia_", None),
        "n_iter": estimator.n_iter_,
        "stop_reason": str(estimator.stop_reason_),
        "scale": None if model.scaler is None else type(model.scaler).__name__,
        "metric": getattr(estimator, "metric", "euclidean"),
        "sizes": None if weights is None else weights.tolist(),
        "centers": model.centers.tolist(),
    }


def show_json(value: dict[str, Any]) -> None:
    """One object on one line."""
    print(json.dumps(value, allow_nan=False))


def show_line(text: str) -> None:
    """A line of text, which the terminal may wrap as it likes."""
    Console().print(one_line(text), markup=False, highlight=False, soft_wrap=True)


def show_model(model: SavedModel, *, first: str = "{what}", ending: str | None = None) -> None:
    """A line about the fit, one about how it ended, and a table of the clusters."""
    estimator = model.estimator
    what = f"{estimator.n_features_in_} features, {estimator.n_clusters} clusters"
    if hasattr(estimator, "objective_"):
        what += f": objective {estimator.objective_:.6g}, inertia {estimator.inertia_:.6g}"
    show_line(first.format(what=what))
    show_line(f"{(ending or str(estimator.stop_reason_)).capitalize()}.")
    n_clusters = min(estimator.n_clusters, _MOST_CLUSTERS)
    n_features = min(estimator.n_features_in_, max(1, (Console().width - _BESIDE) // _NUMBER))
    Console().print(_table(model, n_clusters, n_features))
    if (n_clusters, n_features) != (estimator.n_clusters, estimator.n_features_in_):
        show_line(f"The table has {n_clusters} clusters and {n_features} features; --json gives all.")


def _table(model: SavedModel, n_clusters: int, n_features: int) -> Table:
    """Sizes and centers of the clusters."""
    cosine = getattr(model.estimator, "metric", "euclidean") == "cosine"
    title = "directions of the centers" if cosine else "centers, in the units of the data"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    names = model.feature_names or [f"feature {i}" for i in range(model.estimator.n_features_in_)]
    weights = getattr(model.estimator, "cluster_weights_", None)
    for heading in ("cluster", *(() if weights is None else ("size", "share")), *names[:n_features]):
        table.add_column(escape(one_line(heading)), justify="right", overflow="fold")
    for cluster, center in enumerate(np.asarray(model.centers, np.float64)[:n_clusters, :n_features]):
        size = () if weights is None else (f"{weights[cluster]:,.10g}", f"{weights[cluster] / weights.sum():.1%}")
        table.add_row(str(cluster), *size, *(f"{value:.4g}" for value in center))
    return table
