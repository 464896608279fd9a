"""Warnings about the clusters, each with what it means and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..history import StopReason
from ..plot.fit_plots import final_objectives
from ..plot.style import format_count, format_number
from .column_findings import (
    constant_features,
    different_scales,
    identifier_columns,
    join_names,
    long_tails,
    missing_values,
    quoted,
)
from .report_records import Description, Finding

TINY = 0.05  # a cluster smaller than this share of the mean size is tiny
FEW_ROWS = 10  # if clusters have fewer rows than this in the mean, one of a single row is not worth a warning
# Two clusters overlap if the distance between their centers is below this multiple of the sum of their rows'
# standard deviations along that line. It is 1.3 for two halves of a Gaussian, 1.7 for two halves of a uniform
# distribution, and 2.1 for two Gaussians that are four standard deviations apart.
OVERLAP = 1.9
NEIGHBORS = 3  # neighbors of each cluster that are checked for overlap
ROWS_TO_JUDGE = 10  # rows in the sample that a cluster needs for that
MOST_JUDGED = 1000  # clusters that are checked for overlap, the largest
WEAK_SILHOUETTE = 0.25  # usual threshold for "no substantial structure" (Kaufman and Rousseeuw)
RESTARTS_DIFFER = 0.01  # of the best objective
OTHER_DATA = 1e-4  # relative difference of the objectives
DOUBTFUL = 0.6  # clusters that are found again to a lesser degree should not be relied on (Hennig, 2008)


def findings(description: Description) -> list[Finding]:
    """All findings that apply, the serious ones first."""
    checks = (
        _not_converged,
        _empty_clusters,
        _dominating_cluster,
        identifier_columns,
        different_scales,
        missing_values,
        _tiny_clusters,
        _overlapping_clusters,
        _low_silhouette,
        _different_restarts,
        _not_found_again,
        constant_features,
        _other_data,
    )
    found = [finding for check in checks for finding in check(description)]
    return sorted(found, key=lambda finding: not finding.serious)


def _not_converged(description: Description) -> Iterator[Finding]:
    estimator = description.model.estimator
    reason = getattr(estimator, "stop_reason_", None)
    if reason is StopReason.MAX_ITER and not hasattr(estimator, "max_iter"):
        return  # the paper's algorithm, which always takes all its steps
    advice = {
        StopReason.MAX_ITER: "Allow more steps (max_iter), or accept that the centers may still move a little.",
        StopReason.MAX_TIME: "These are the best centers so far; allow more time (max_time) for better ones.",
        StopReason.CALLBACK: "These are the best centers found until then.",
        StopReason.DIVERGED: "Do not use these clusters; fit again with EulerMeans, which limits its steps.",
    }
    if reason in advice:
        yield Finding(True, "The fit did not converge", f"Reason: {reason}. {advice[reason]}")


def _empty_clusters(description: Description) -> Iterator[Finding]:
    empty = np.flatnonzero(description.counts == 0)
    if len(empty):
        cause = "There are fewer distinct rows than clusters, or the model was fitted to other data."
        headline = f"{format_count(len(empty), 'cluster')} without rows"
        yield Finding(True, headline, f"{_list_clusters(empty)}. {cause}")


def _dominating_cluster(description: Description) -> Iterator[Finding]:
    n_clusters = len(description.counts)
    share = description.counts / description.total_weight
    if n_clusters > 1 and share.max() > 0.5 + 0.5 / n_clusters:
        yield Finding(
            True,
            f"One cluster has {format_number(100 * share.max(), 3)}% of the {description.unit}",
            f"Cluster {int(share.argmax())} holds most of the data, and the others may only hold outliers. "
            f"{_advice_on_outliers(description)}",
        )


def _advice_on_outliers(description: Description) -> str:
    """What to look for, by the columns that have outliers."""
    tails = long_tails(description)
    positive = [feature for feature in tails if feature.low >= 0]
    if positive:
        its = "its logarithm" if len(positive) == 1 else "their logarithms"
        return f"A few values of {quoted(positive)} are far above all others: take {its}, or look at those rows."
    if tails:
        return f"A few values of {quoted(tails)} are far above all others: look at those rows, or clip the values."
    if not description.model.scalers:
        return "Look at the rows of the small clusters; if the features have different units, scale them."
    return "Look at the rows of the small clusters before you interpret them."


def _tiny_clusters(description: Description) -> Iterator[Finding]:
    counts = description.counts
    mean = float(counts.mean())
    tiny = (counts > 0) & (counts < TINY * mean)
    if not description.weighted and mean >= FEW_ROWS:
        tiny |= counts == 1
    clusters = np.flatnonzero(tiny)
    if len(clusters):
        size = f"{format_number(counts[clusters].sum(), 12)} of {format_number(description.total_weight, 12)}"
        total = f"weight {size}" if description.weighted else f"{size} rows"
        yield Finding(
            True,
            format_count(len(clusters), "tiny cluster"),
            f"{_list_clusters(clusters)}: {total} in total. Such clusters are often outliers; look at their rows "
            "before you interpret them, or use fewer clusters.",
        )


def _overlapping_clusters(description: Description) -> Iterator[Finding]:
    pairs = overlapping_pairs(description)
    if not pairs:
        return
    involved = len({cluster for pair in pairs for cluster in pair})
    worst = join_names([f"{a} and {b}" for a, b in pairs])
    whose = "The first pair's centers" if len(pairs) > 1 else "Their centers"
    ratio = format_number(next(iter(pairs.values())), 2)
    judged = np.bincount(description.sample.labels, minlength=len(description.counts)) >= ROWS_TO_JUDGE
    least = "" if judged.all() else "At least "
    yield Finding(
        True,
        f"{least}{involved} of {len(description.counts):,} clusters overlap",
        f"Clusters {worst} are not separated by a region of low density, so rows near the border could belong to "
        f"either. {whose} are {ratio} times as far apart as their rows scatter; clear gaps start at about 2. "
        "Fewer clusters may fit better, unless you only want to divide a continuum into groups.",
    )


def _low_silhouette(description: Description) -> Iterator[Finding]:
    mean = description.silhouette
    if mean is not None and mean < WEAK_SILHOUETTE:
        yield Finding(
            False,
            f"The mean silhouette is {mean:.2f}",
            f"Values below {WEAK_SILHOUETTE} usually mean that the data has no compact clusters, although values "
            "are low in general if there are many features. Compare other numbers of clusters: eulermeans sweep.",
        )


def _not_found_again(description: Description) -> Iterator[Finding]:
    if description.stability is None:
        return
    values = description.stability.clusters
    doubtful = np.flatnonzero(values < DOUBTFUL)  # NaN is not
    if len(doubtful):
        doubtful = doubtful[np.argsort(values[doubtful], kind="stable")]
        those = "that cluster" if len(doubtful) == 1 else "those clusters"
        yield Finding(
            False,
            f"{format_count(len(doubtful), 'cluster')} of {len(values):,} {'is' if len(doubtful) == 1 else 'are'} "
            "not found again",
            f"{_list_clusters(doubtful)}: when random halves of a sample were clustered anew, other rows came "
            f"together. Do not build on {those}; another K may give clusters that last.",
        )


def _different_restarts(description: Description) -> Iterator[Finding]:
    finals = final_objectives(description.model.estimator)
    if len(finals) > 1 and finals[-1] > (1 + RESTARTS_DIFFER) * finals[0]:
        good = int(np.sum(finals <= (1 + RESTARTS_DIFFER) * finals[0]))
        worst = f"{format_number(100 * (finals[-1] / finals[0] - 1), 2)}%" if finals[0] > 0 else "far"
        yield Finding(
            False,
            "The restarts found different solutions",
            f"{good} of {len(finals)} ended within 1% of the best; the worst ended {worst} above it. More effort "
            "makes it more likely to find the best solution.",
        )


def _other_data(description: Description) -> Iterator[Finding]:
    trained = getattr(description.model.estimator, "objective_", None)
    if trained is None:
        return
    here = description.objective
    if abs(here - trained) > OTHER_DATA * max(abs(trained), 1e-9 * description.single):
        yield Finding(
            False,
            "This is not the data that the model was fitted to",
            f"The objective was {format_number(float(trained), 5)} on the training data and is "
            f"{format_number(here, 5)} here. All sizes and features in this report are those of the data here.",
        )


def overlapping_pairs(description: Description) -> dict[tuple[int, int], float]:
    """Pairs of clusters without a gap between them, with the ratio that OVERLAP bounds; the smallest first.

    The rows of the sample are projected to the line between the two centers.
    """
    sample, centers = description.sample, description.model.centers
    order = np.argsort(sample.labels, kind="stable")
    members = np.split(order, np.searchsorted(sample.labels[order], np.arange(1, len(centers))))
    judged = [int(c) for c in np.argsort(-description.counts, kind="stable")[:MOST_JUDGED]]
    judged = [cluster for cluster in judged if len(members[cluster]) >= ROWS_TO_JUDGE]
    if len(judged) < 2:
        return {}
    ratios: dict[tuple[int, int], float] = {}
    for own, distances in enumerate(cdist(centers[judged], centers[judged])):
        for other in np.argsort(distances, kind="stable")[: NEIGHBORS + 1]:
            a, b = sorted((judged[own], judged[int(other)]))
            if a != b and (a, b) not in ratios and distances[other] > 0:
                axis = (centers[b] - centers[a]) / distances[other]
                scatter = sum(float(np.std(sample.points[members[cluster]] @ axis)) for cluster in (a, b))
                ratios[a, b] = float(distances[other] / max(scatter, 1e-300))
    return {pair: ratio for pair, ratio in sorted(ratios.items(), key=lambda item: item[1]) if ratio < OVERLAP}


def _list_clusters(numbers: NDArray[np.intp]) -> str:
    return f"{'Cluster' if len(numbers) == 1 else 'Clusters'} {join_names([str(cluster) for cluster in numbers])}"
