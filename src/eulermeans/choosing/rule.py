"""Which K to take, from the rows of a sweep alone.

The largest K at which the clusters come out again on the other half of the data and every two neighbors are
divided by thinner ground. Both are needed: a long cluster is cut in two at the same place again and again, but
where its points are densest; and a border through even ground has no peak, but falls elsewhere each time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .records import Confidence, Recommendation, Row

STRENGTH = 0.8  # that the worst cluster must have; Tibshirani and Walther (2005) take 0.8 to 0.9
VALLEY = 1.0  # that the border must stay below: as dense as the centers
FAINT = 0.85  # where no K has a border below this, the data are as even as noise
CLEAR_STRENGTH, CLEAR_VALLEY = 0.9, 0.5  # clusters that nobody would doubt
TINY = 0.01  # part of all rows: a cluster of less, where K is smallest, is of rows far from all others
RISING = 0.02  # a silhouette that is better by this at the end of the range


def recommend(rows: Sequence[Row]) -> Recommendation:
    """The K to take. Where no clusters are to be seen it is that of the best silhouette, as the reason says."""
    good = [row for row in rows if row.strength >= STRENGTH and row.valley < VALLEY]
    if not any(row.valley <= FAINT for row in good):
        return _none(rows)
    chosen = good[-1]
    clear = chosen.strength >= CLEAR_STRENGTH and chosen.valley <= CLEAR_VALLEY
    words = [
        f"K = {chosen.n_clusters} is the largest K whose clusters come out again when another half of the data "
        f"is clustered (the worst of them to {chosen.strength:.0%}), and are all divided by thinner ground (the "
        f"density at the borders is at most {chosen.valley:.0%} of that at the centers)."
    ]
    beyond = [row for row in rows if row.n_clusters > chosen.n_clusters]
    if beyond:
        words.append(_against(beyond[0]))
    if not clear:
        words.append(_instead(chosen, good))
    if not beyond:
        words.append("It is the largest K that was tried: there may be more clusters, so try more.")
        clear = False
    elif beyond[-1].silhouette > chosen.silhouette + RISING:
        words.append(
            "The silhouette still rises at the end of the range: there may be more clusters, so try more."
        )
        clear = False
    return Recommendation(
        chosen.n_clusters, Confidence.HIGH if clear else Confidence.MODERATE, " ".join(filter(None, words))
    )


def _against(row: Row) -> str:
    """Why not the next K."""
    if not row.valley < VALLEY:
        return f"With {row.n_clusters} a border runs through dense ground ({row.valley:.0%})."
    return f"With {row.n_clusters} a cluster does not come out again ({row.strength:.0%})."


def _instead(chosen: Row, good: list[Row]) -> str:
    """The largest K that nobody would doubt, where the chosen one can be doubted."""
    clear = [row for row in good if row.strength >= CLEAR_STRENGTH and row.valley <= CLEAR_VALLEY]
    doubt = "Some of them touch" if chosen.valley > CLEAR_VALLEY else "Not all of them are firm"
    return (
        f"{doubt}; K = {clear[-1].n_clusters} is the largest whose clusters stand apart." if clear else f"{doubt}."
    )


def _none(rows: Sequence[Row]) -> Recommendation:
    """No K stands out."""
    best = max(rows, key=lambda row: row.silhouette if np.isfinite(row.silhouette) else -np.inf)
    words = [
        "No K stands out: with every K that was tried a border runs through dense ground or clusters do not come "
        "out again when another half of the data is clustered.",
        f"K = {best.n_clusters} has the best silhouette ({best.silhouette:.2f}), but little speaks for it over "
        "others: take the K that your purpose asks for.",
    ]
    if rows[0].smallest < TINY:
        words.append(
            f"With {rows[0].n_clusters} a cluster has {rows[0].smallest:.2%} of the rows: some that lie far from "
            "all others take centers for themselves, so look for outliers."
        )
    elif best is rows[0] and best.n_clusters > 2:
        words.append("It is the smallest K that was tried: try fewer.")
    elif best is rows[-1] and len(rows) > 1:
        words.append("It is the largest K that was tried: try more.")
    return Recommendation(best.n_clusters, Confidence.LOW, " ".join(words))
