"""Text for the terminal: numbers and durations, and results as a table for people or as JSON for programs.

Imports rich where it draws a table: errors and lines of text come at once without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from ..storage.model_summary import ModelSummary

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
    print(one_line(text))


def show_files(files: Mapping[str, str]) -> None:
    """Print the kind and path of each file that was written."""
    for kind, path in files.items():
        show_line(f"{kind.capitalize()}: {path}")


def model_as_json(model: ModelSummary) -> dict[str, object]:
    """The results of a fit. Centers are in the units of the data."""
    preparation = model.preparation
    return {
        "n_clusters": model.n_clusters,
        "n_features": model.n_features,
        "feature_names": model.feature_names,
        "objective": model.objective,
        "inertia": model.inertia,
        "n_iter": model.n_iter,
        "stop_reason": str(model.stop_reason),
        "scale": model.scaler,
        "missing": None if preparation is None or preparation.missing is None else preparation.missing.value,
        "metric": model.metric,
        **bounds_as_json(model),
        "sizes": None if model.weights is None else model.weights.tolist(),
        "centers": model.centers.tolist(),
    }


def bounds_as_json(model: ModelSummary) -> dict[str, object]:
    """The bounds on the sizes, the prices that hold them, and what they cost; nothing without bounds."""
    if model.bounds is None:
        return {}
    return {
        "size_bounds": [model.bounds.lowest, model.bounds.highest],
        "above_unbounded": model.bounds.above,
        "prices": None if model.prices is None else model.prices.tolist(),
    }


def show_model(model: ModelSummary, *, before: str = "", after: str = "", stop_reason: str | None = None) -> None:
    """Print a line about the fit between `before` and `after`, why it stopped, and a table of the clusters."""
    line = f"{model.n_features} features, {model.n_clusters} clusters"
    if model.objective is not None:
        line += f": objective {model.objective:.6g}, inertia {model.inertia:.6g}"
    show_line(before + line + after)
    if model.bounds is not None:
        show_line(f"{str(model.bounds).capitalize()}.")
    show_line(f"{(stop_reason or str(model.stop_reason)).capitalize()}.")
    from rich.console import Console

    width = Console().width
    n_clusters = min(model.n_clusters, _MAX_CLUSTERS)
    n_features = min(model.n_features, max(1, (width - _SIZES_WIDTH) // _NUMBER_WIDTH))
    shown = model.by_separation[:n_features] if n_features < model.n_features else list(range(n_features))
    Console().print(_table(model, n_clusters, shown))
    if n_features < model.n_features:
        show_line(
            f"The {n_features} of {model.n_features} features that separate the clusters best; --json and "
            "--centers have all."
        )
    if n_clusters < model.n_clusters:
        show_line(f"The first {n_clusters} of {model.n_clusters} clusters; --json and --centers have all.")


def preparation_lines(model: ModelSummary) -> Iterator[str]:
    """What the model does to the columns of a table before they are scaled."""
    if model.preparation is None:
        return
    for column in model.preparation.columns:
        if column.categories:
            yield f"One-hot: {column.name} ({', '.join(column.categories)})"
        elif column.kind.value == "date":
            yield f"Dates: {column.name}, as days since 1970"
    if model.preparation.missing is not None:
        rules = {"drop": "rows are left out", "mean": "filled in by the mean", "median": "filled in by the median"}
        yield f"Missing values: {rules[model.preparation.missing.value]}"


def _table(model: ModelSummary, n_clusters: int, features: list[int]) -> Table:
    """Sizes and centers of the clusters."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    title = "directions of the centers" if model.metric == "cosine" else "centers, in the units of the data"
    table = Table(box=box.SIMPLE, title=title, title_justify="left")
    names = model.feature_names or [f"feature {i}" for i in range(model.n_features)]
    weights = model.weights
    chosen = [names[place] for place in features]
    for heading in ("cluster", *(() if weights is None else ("size", "share")), *chosen):
        table.add_column(escape(one_line(heading)), justify="right", overflow="fold")
    for cluster, center in enumerate(model.rounded_centers[:n_clusters, features].tolist()):
        size = () if weights is None else (f"{weights[cluster]:,.10g}", f"{weights[cluster] / weights.sum():.1%}")
        table.add_row(str(cluster), *size, *map(_number, center))
    return table


def _number(value: float) -> str:
    """Four digits, without an exponent as long as it fits a column of the table."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e8 else f"{value:.4g}"
