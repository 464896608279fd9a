"""The result of a sweep: one row of measurements for each K, and the recommended K."""

from __future__ import annotations

import html
import textwrap
from dataclasses import asdict, dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..estimators import EulerMeans
from ..optional import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

    from .sweep_figure import FourAxes


class Confidence(str, Enum):
    """How clear the recommendation is."""

    HIGH = "high"  # the clusters are stable and well separated
    MODERATE = "moderate"  # stable, but some clusters touch, or the range of K may be too short
    LOW = "low"  # no K stands out

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Row:
    """The measurements for one K. Undefined values are NaN."""

    n_clusters: int
    objective: float  #: φ = inertia / (2 · total weight)
    inertia: float
    silhouette: float  #: −1 to 1: the mean over a sample, from all distances within the sample
    calinski_harabasz: float  #: over all rows: higher is better
    davies_bouldin: float  #: over all rows: lower is better
    stability: float  #: adjusted Rand index between fits of separate halves of a sample; 1: the same clusters
    strength: float  #: prediction strength, 0 to 1: how much of the worst cluster the other half reproduces
    valley: float  #: density at the border over density at the centers, for the worst pair of neighbors
    smallest: float  #: fraction of all rows in the smallest cluster
    seconds: float
    points_read: int
    n_distances: int  #: point-to-center distances computed by the fits


@dataclass(frozen=True)
class Recommendation:
    """The K to use, and why."""

    n_clusters: int
    confidence: Confidence
    reason: str


@dataclass(frozen=True, repr=False)
class Sweep:
    """The result for every K tried, in ascending order, and the recommended K.

    `str()` gives a table, `to_frame()` a pandas DataFrame, `plot()` a figure, and `sweep[K]` the row of that K.

    Examples
    --------
    >>> from eulermeans import sweep
    >>> from eulermeans.datasets import paper_gaussians
    >>> found = sweep(paper_gaussians(0, per_cluster=200), "2:5", random_state=0)
    >>> found.model.n_clusters == found.recommended
    True
    >>> [row.n_clusters for row in found.rows]
    [2, 3, 4, 5]
    >>> found[4].objective < found[3].objective
    True
    """

    rows: tuple[Row, ...]  #: one for each K
    recommended: int  #: the K to use
    confidence: Confidence  #: high, moderate or low
    reason: str  #: for the recommendation, in words
    models: dict[int, EulerMeans]  #: the fitted model of each K
    n_points: int  #: rows clustered: all of them, or a sample if the data are not in memory
    skipped: tuple[int, ...] = ()  #: values of K that were not tried because time ran out

    @property
    def model(self) -> EulerMeans:
        """The fitted model of the recommended K."""
        return self.models[self.recommended]

    def __getitem__(self, n_clusters: int) -> Row:
        """The row of that K."""
        for row in self.rows:
            if row.n_clusters == n_clusters:
                return row
        raise KeyError(f"K = {n_clusters} was not tried; tried: {[row.n_clusters for row in self.rows]}.")

    def __repr__(self) -> str:
        tried = f"{self.rows[0].n_clusters} to {self.rows[-1].n_clusters}"
        return f"Sweep(recommended={self.recommended}, confidence={self.confidence.value!r}, tried={tried})"

    def _repr_html_(self) -> str:
        """What notebooks show: the table with the recommended K in bold, and the reason."""
        cells = [_html_row("th", ["K", *(heading for heading, _ in _COLUMNS.values())])]
        for row in self.rows:
            values = [form.format(getattr(row, name)) for name, (_, form) in _COLUMNS.items()]
            tag = "th" if row.n_clusters == self.recommended else "td"
            cells.append(_html_row(tag, [str(row.n_clusters), *values]))
        return f"<table>{''.join(cells)}</table><p>{html.escape(self.reason)}</p>"

    def __str__(self) -> str:
        table = [["K  ", *(heading for heading, _ in _COLUMNS.values())]]
        for row in self.rows:
            mark = " *" if row.n_clusters == self.recommended else "  "
            cells = [form.format(getattr(row, name)) for name, (_, form) in _COLUMNS.items()]
            table.append([f"{row.n_clusters}{mark}", *cells])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= _WIDTH else " "
        lines = [gap.join(map(str.rjust, line, widths)) for line in table]
        reason = textwrap.fill(self.reason, width=_WIDTH)
        return "\n".join([*(line.rstrip() for line in lines), "", reason])

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, indexed by K."""
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingExtra("this needs pandas: pip install pandas", name="pandas") from error
        return pandas.DataFrame([asdict(row) for row in self.rows]).set_index("n_clusters")

    def plot(self, axes: FourAxes | None = None) -> NDArray[np.object_]:
        """Draw four plots with the recommended K marked; return their Axes as an array, (2, 2).

        `axes`: four Axes to draw into, in any arrangement; None makes a new figure.
        """
        from .sweep_figure import draw_sweep

        return draw_sweep(self, axes)


def _html_row(tag: str, texts: list[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in texts)}</tr>"


# The columns of the printed table, which fits 80 characters: field of Row -> heading and format.
_COLUMNS = {
    "objective": ("objective", "{:.5g}"),
    "silhouette": ("silhouette", "{:.3f}"),
    "calinski_harabasz": ("Calinski-H.", "{:.5g}"),
    "stability": ("stability", "{:.3f}"),
    "strength": ("strength", "{:.3f}"),
    "valley": ("valley", "{:.2f}"),
    "smallest": ("smallest", "{:.1%}"),
}
_WIDTH = 80
