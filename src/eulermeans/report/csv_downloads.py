"""Tables of a report as CSV files, which a link holds itself: no server and no script is needed to save them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np

from .report_records import Description

MOST_BYTES = 350_000  # of the file of the centers in the page
VALUE_BYTES = 10  # of a number and its comma, about
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a cell that begins like this for a formula


@dataclass(frozen=True)
class Download:
    """A file to save."""

    file_name: str
    label: str  # of the link
    text: str

    @property
    def address(self) -> str:
        """The whole file as a data: address."""
        return "data:text/csv;charset=utf-8," + quote(self.text, safe=",.-_ ()/:;@!*$", errors="replace")


def downloads(description: Description) -> list[Download]:
    """The files that a report offers."""
    return [
        Download("clusters.csv", "clusters: sizes, quality and words", _summary(description)),
        Download("centers.csv", _centers_label(description), _centers(description)),
    ]


def _summary(description: Description) -> str:
    headings = ["cluster", description.unit, "share", "spread", "silhouette", "found_again", "in_words"]
    return _table(
        headings,
        (
            [
                str(cluster.number),
                _number(cluster.size),
                _number(cluster.share),
                _number(cluster.spread),
                _number(cluster.silhouette),
                _number(cluster.found_again),
                cluster.sentence,
            ]
            for cluster in description.clusters
        ),
    )


def _columns(description: Description) -> list[int]:
    """The features in the file of the centers: all, or those that separate most if there are too many."""
    sizes = np.array([len(quote(feature.name, errors="replace")) for feature in description.features])
    room = MOST_BYTES - VALUE_BYTES * len(description.clusters)  # for the numbers of the clusters
    separation = np.array([feature.separation for feature in description.features])
    order = np.argsort(-separation, kind="stable")
    used = np.cumsum(sizes[order] + VALUE_BYTES * len(description.clusters))
    return sorted(order[: max(1, int(np.searchsorted(used, room, side="right")))].tolist())


def _centers_label(description: Description) -> str:
    n_shown, n_all = len(_columns(description)), len(description.features)
    return "centers" if n_shown == n_all else f"centers, {n_shown:,} of {n_all:,} features"


def _centers(description: Description) -> str:
    """The mean of each cluster in the units of the data."""
    columns = _columns(description)
    headings = ["cluster", *(description.features[column].name for column in columns)]
    rows = ([str(c.number), *map(_number, description.means[c.number, columns])] for c in description.clusters)
    return _table(headings, rows)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([f"'{name}" if name.startswith(_FORMULA) else name for name in map(_text, headings)])
    writer.writerows(map(_text, row) for row in rows)
    return buffer.getvalue()


def _text(cell: str) -> str:
    """The cell without null characters: Python 3.10 can't write them, and few programs read them."""
    return cell.replace("\0", "\ufffd")


def _number(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.7g}"
