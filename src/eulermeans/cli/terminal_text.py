"""Text for the terminal: numbers and durations, and results as a table for people or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from ..storage.models import SavedModel

_BARS = "▁▂▃▄▅▆▇█"
_MAX_CLUSTERS = 50  # in a table
_NUMBER_WIDTH = 12  # characters of a number in a table
_SIZES_WIDTH = 30  # characters of the columns before the numbers


def short(number: float) -> str:
    """Three digits and a suffix: 1.23M."""
    for suffix in ("", "k", "M", "G"):
        if abs(number) < 999.5:
            return f"{number:.3g}{suffix}"
        number /= 1000
    return f"{number:.3g}T"


def duration(seconds: float) -> str:
    """0.8 s, 42 s, 3:07, 1:02:09."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as bars, at most `width` of them; the smallest value is the lowest bar."""
    if len(values) < 2:
        return ""
    step = max(1.0, len(values) / width)
    shown = [values[min(len(values) - 1, int((i + 1) * step) - 1)] for i in range(min(width, len(values)))]
    low, high = min(shown), max(shown)
    if not high > low:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(len(_BARS) - 1, int((value - low) / (high - low) * len(_BARS)))] for value in shown)


def one_line(text: str) -> str:
    """The text without line breaks and control characters, which names in data files may contain."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def show_json(value: Mapping[str, object]) -> None:
    """Print one object on one line."""
    print(json.dumps(value, allow_nan=False))


def show_line(text: str) -> None:
    """Print one line of text."""
    Console().print(one_line(text), markup=False, highlight=False, soft_wrap=True)


def show_files(files: Mapping[str, str]) -> None:
    """Print the kind and path of each file that was written."""
    for kind, path in files.items():
        show_line(f"{kind.capitalize()}: {path}")


def model_as_json(model: SavedModel) -> dict[str, object]:
    """The results of a fit. Centers are in the units of the data."""
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
        **bounds_as_json(estimator),
        "sizes": None if weights is None else weights.tolist(),
        "centers": model.centers.tolist(),
    }


def bounds_as_json(estimator: object) -> dict[str, object]:
    """The bounds on the sizes, the prices that hold them, and what they cost; nothing without bounds."""
    from ..estimators.size_bounds import bounds_cost

    bounds = bounds_cost(estimator)
    if bounds is None:
        return {}
    return {
        "size_bounds": [bounds.lowest, bounds.highest],
        "above_unbounded": bounds.above,
        "prices": vars(estimator)["prices_"].tolist(),
    }


def show_model(model: SavedModel, *, before: str = "", after: str = "", stop_reason: str | None = None) -> None:
    """Print a line about the fit between `before` and `after`, why it stopped, and a table of the clusters."""
    from ..estimators.size_bounds import bounds_cost  # imports scikit-learn, which takes a while

    estimator = model.estimator
    line = f"{estimator.n_features_in_} features, {estimator.n_clusters} clusters"
    if hasattr(estimator, "objective_"):
        line += f": objective {estimator.objective_:.6g}, inertia {estimator.inertia_:.6g}"
    show_line(before + line + after)
    if (bounds := bounds_cost(estimator)) is not None:
        show_line(f"{str(bounds).capitalize()}.")
    show_line(f"{(stop_reason or str(estimator.stop_reason_)).capitalize()}.")
    n_clusters = min(estimator.n_clusters, _MAX_CLUSTERS)
    n_features = min(estimator.n_features_in_, max(1, (Console().width - _SIZES_WIDTH) // _NUMBER_WIDTH))
    Console().print(_table(model, n_clusters, n_features))
    if (n_clusters, n_features) != (estimator.n_clusters, estimator.n_features_in_):
        show_line(f"The table shows {n_clusters} clusters and {n_features} features; use --json for all.")


def _table(model: SavedModel, n_clusters: int, n_features: int) -> Table:
    """Sizes and centers of the clusters."""
    cosine = getattr(model.estimator, "metric", "euclidean") == "cosine"
    title = "directions of the centers" if cosine else "centers, in the units of the data"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    names = model.feature_names or [f"feature {i}" for i in range(model.estimator.n_features_in_)]
    weights = getattr(model.estimator, "cluster_weights_", None)
    for heading in ("cluster", *(() if weights is None else ("size", "share")), *names[:n_features]):
        table.add_column(escape(one_line(heading)), justify="right", overflow="fold")
    for cluster, center in enumerate(model.centers[:n_clusters, :n_features].tolist()):
        size = () if weights is None else (f"{weights[cluster]:,.10g}", f"{weights[cluster] / weights.sum():.1%}")
        table.add_row(str(cluster), *size, *(f"{value:.4g}" for value in center))
    return table
