"""What a sweep found: a row of numbers for each K, and what they come to."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, fields
from enum import Enum
from importlib import import_module
from typing import Any

from ..optional import MissingExtra


class Confidence(str, Enum):
    """How clear the recommendation is."""

    HIGH = "high"  # the clusters repeat and stand apart
    MODERATE = "moderate"  # they repeat, but some touch, or the range ended too soon to tell
    LOW = "low"  # no K stands out

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """One K: how well its clusters serve the data, and what it cost. What is not defined is NaN."""

    n_clusters: int
    objective: float  # φ = inertia / (2 · total weight)
    inertia: float
    silhouette: float  # −1 to 1: the mean over a sample, by all distances within the sample
    calinski_harabasz: float  # over all rows: more is better
    davies_bouldin: float  # over all rows: less is better
    stability: float  # adjusted Rand index of runs on separate halves of a sample: 1 is the same clusters
    strength: float  # prediction strength: how much of the worst cluster repeats on the other half, 0 to 1
    valley: float  # density at the border of the two neighbors that touch most, over that at their centers
    smallest: float  # the part of all rows that is in the smallest cluster
    seconds: float
    points_read: int
    n_distances: int  # between points and centers, computed by the fits


@dataclass(frozen=True)
class Recommendation:
    """The K to take, and why."""

    n_clusters: int
    confidence: Confidence
    reason: str


@dataclass(frozen=True, repr=False)
class Sweep:
    """All K that were tried, in order, and which to take.

    `str()` gives a table, `to_frame()` a pandas frame, `plot()` a picture.
    """

    rows: tuple[Row, ...]
    recommended: int
    confidence: Confidence
    reason: str
    models: dict[int, Any]  # the fitted model of each K
    n_points: int  # rows that were clustered: all of them, or a sample of data that are not in memory
    skipped: tuple[int, ...] = ()  # for which there was no time

    @property
    def model(self) -> Any:
        """The fitted model of the recommended K."""
        return self.models[self.recommended]

    def __getitem__(self, n_clusters: int) -> Row:
        """The row of that K."""
        for row in self.rows:
            if row.n_clusters == n_clusters:
                return row
        raise KeyError(f"K = {n_clusters} was not tried; tried were {[row.n_clusters for row in self.rows]}.")

    def __repr__(self) -> str:
        tried = f"{self.rows[0].n_clusters} to {self.rows[-1].n_clusters}"
        return f"Sweep(recommended={self.recommended}, confidence={self.confidence.value!r}, tried={tried})"

    def __str__(self) -> str:
        head = ["K", *(heading for heading, _ in _COLUMNS.values())]
        body = [
            [f"{row.n_clusters}{' *' if row.n_clusters == self.recommended else '  '}", *cells(row)]
            for row in self.rows
        ]
        head[0] += "  "
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in [head, *body]
        ]
        words = textwrap.fill(self.reason, width=max(len(lines[0]), 80))
        return "\n".join([*(line.rstrip() for line in lines), "", words])

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame, by K."""
        try:
            pandas: Any = import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtra("this needs pandas: pip install pandas", name="pandas") from error
        return pandas.DataFrame([asdict(row) for row in self.rows]).set_index("n_clusters")

    def plot(self, axes: Any = None) -> Any:
        """Four pictures with the recommended K marked; returns the array of their Axes, (2, 2).

        `axes`: four Axes to draw into, in any arrangement; None makes a new figure.
        """
        from .drawing import draw

        return draw(self, axes)


# The columns of the table: heading and format.
_COLUMNS = {
    "objective": ("objective", "{:.5g}"),
    "silhouette": ("silhouette", "{:.3f}"),
    "calinski_harabasz": ("Calinski-H.", "{:.5g}"),
    "davies_bouldin": ("Davies-B.", "{:.3f}"),
    "stability": ("stability", "{:.3f}"),
    "strength": ("strength", "{:.3f}"),
    "valley": ("valley", "{:.2f}"),
    "smallest": ("smallest", "{:.1%}"),
    "seconds": ("seconds", "{:.2f}"),
    "n_distances": ("distances", "{:.1e}"),
}
assert set(_COLUMNS) <= {f.name for f in fields(Row)}


def cells(row: Row) -> list[str]:
    """The row as the table shows it."""
    return [form.format(getattr(row, name)) for name, (_, form) in _COLUMNS.items()]
