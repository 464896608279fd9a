"""Which K to use, from the rows of a sweep alone.

The rule takes the largest K whose clusters are found again on the other half of the data, and whose neighboring
clusters are all separated by regions of lower density. Both conditions are needed. A long cluster is cut in two at
the same place every time, so it is found again, but the cut goes through its densest part. In a region of even
density a border has no density peak, but it lies elsewhere on every half.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .sweep_result import Confidence, Recommendation, Row

STRENGTH = 0.8  # required of the worst cluster; Tibshirani and Walther (2005) use 0.8 to 0.9
VALLEY = 1.0  # the density at every border must be below this fraction of the density at the centers
FAINT = 0.85  # if no K has all borders at or below this, the data are as even as noise
CLEAR_STRENGTH = 0.9  # of clusters that nobody would doubt
CLEAR_VALLEY = 0.5  # at most, of clusters that nobody would doubt
TINY = 0.01  # at the smallest K, a cluster with a smaller fraction of the rows consists of outliers
RISING = 0.02  # the silhouette still rises if its last value exceeds that of the chosen K by more


def recommend(rows: Sequence[Row]) -> Recommendation:
    """The K to use. If no K shows clear clusters, the one with the best silhouette; the reason then says so."""
    good = [row for row in rows if row.strength >= STRENGTH and row.valley < VALLEY]
    if not any(row.valley <= FAINT for row in good):
        return _no_k_stands_out(rows)
    chosen = good[-1]
    clear = _is_clear(chosen)
    sentences = [
        f"K = {chosen.n_clusters} is the largest K whose clusters are all found again when the other half of the "
        f"data is clustered (the worst one to {chosen.strength:.0%}) and are separated by regions of low density "
        f"(the density at the borders is at most {chosen.valley:.0%} of the density at the centers)."
    ]
    larger = [row for row in rows if row.n_clusters > chosen.n_clusters]
    if larger:
        sentences.append(_why_not(larger[0]))
    if not clear:
        sentences.append(_alternative(chosen, good))
    doubt = ""
    if not larger:
        doubt = "It is the largest K tried"
    elif larger[-1].silhouette > chosen.silhouette + RISING:
        doubt = "The silhouette still rises at the end of the range"
    if doubt:
        sentences.append(f"{doubt}: there may be more clusters, so try larger values.")
    confidence = Confidence.HIGH if clear and not doubt else Confidence.MODERATE
    return Recommendation(chosen.n_clusters, confidence, " ".join(sentences))


def _is_clear(row: Row) -> bool:
    return row.strength >= CLEAR_STRENGTH and row.valley <= CLEAR_VALLEY


def _why_not(row: Row) -> str:
    """Which condition the next K fails."""
    if not row.valley < VALLEY:
        return f"With K = {row.n_clusters}, a border runs through a dense region ({row.valley:.0%})."
    return f"With K = {row.n_clusters}, one cluster is not found again ({row.strength:.0%})."


def _alternative(chosen: Row, good: list[Row]) -> str:
    """The largest K with clear clusters, for a chosen K whose clusters are not clear."""
    clear = [row for row in good if _is_clear(row)]
    doubt = "Some clusters touch" if chosen.valley > CLEAR_VALLEY else "Not all clusters are stable"
    if not clear:
        return f"{doubt}."
    return f"{doubt}; K = {clear[-1].n_clusters} is the largest K whose clusters are well separated."


def _no_k_stands_out(rows: Sequence[Row]) -> Recommendation:
    best = max(rows, key=lambda row: row.silhouette if np.isfinite(row.silhouette) else -np.inf)
    sentences = [
        "No K stands out: with every K tried, a border runs through a dense region or some cluster is not found "
        "again when the other half of the data is clustered.",
        f"K = {best.n_clusters} has the best silhouette ({best.silhouette:.2f}), but the evidence for it is weak: "
        "choose K by what you need the clusters for.",
    ]
    if rows[0].smallest < TINY:
        sentences.append(
            f"With K = {rows[0].n_clusters}, one cluster has only {rows[0].smallest:.2%} of the rows: a few rows "
            "far from all others take centers for themselves, so check for outliers."
        )
    elif best is rows[0] and best.n_clusters > 2:
        sentences.append("It is the smallest K tried, so try smaller values.")
    elif best is rows[-1] and len(rows) > 1:
        sentences.append("It is the largest K tried, so try larger values.")
    return Recommendation(best.n_clusters, Confidence.LOW, " ".join(sentences))
