"""What a person should know before trusting the clusters, each with what it means and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from ..arrays import FloatArray
from ..history import StopReason
from ..plot.fitting import ended_restarts
from ..plot.style import counted, number
from .records import Description, Finding

TINY = 0.05  # of the mean size
FEW_ROWS = 10  # in the mean, below which a cluster of one row is nothing special
OWNED, FEW_FEATURES = 0.9, 0.05  # so much of the variance in so few of the features
# Centers this many times farther apart than the rows of both scatter along the line between them. A Gaussian cut
# in two has 1.3, a uniform 1.7, two Gaussians four standard deviations apart 2.1.
TOUCHING = 1.9
NEIGHBORS, ROWS_TO_JUDGE = 3, 10  # pairs that are looked at for each cluster; rows of each that it takes
MOST_JUDGED = 1000  # clusters, the largest
WEAK = 0.25  # mean silhouette, by the usual reading
APART = 0.01  # of the best objective
OTHER_DATA = 1e-4  # relative difference of objectives of the same data
NAMED = 5  # clusters or features that are listed by name


def findings(description: Description) -> list[Finding]:
    """All that hold, the serious first."""
    found = [
        finding
        for check in (
            _stopping,
            _empty,
            _dominating,
            _scales,
            _tiny,
            _overlapping,
            _weak,
            _restarts,
            _constant,
            _data,
        )
        for finding in check(description)
    ]
    return sorted(found, key=lambda finding: not finding.serious)


def _stopping(description: Description) -> Iterator[Finding]:
    estimator = description.model.estimator
    reason = getattr(estimator, "stop_reason_", None)
    if reason is StopReason.MAX_ITER and not hasattr(estimator, "max_iter"):
        return  # the paper's algorithm, which takes as many steps as it is told
    advice = {
        StopReason.MAX_ITER: "Give it more steps (max_iter), or accept that the centers may still move a little.",
        StopReason.MAX_TIME: "These are the best centers so far; give it more time (max_time) for better ones.",
        StopReason.CALLBACK: "These are the best centers at the time when it was stopped.",
        StopReason.DIVERGED: "Do not use these clusters: fit again with EulerMeans, whose steps are limited.",
    }
    if reason in advice:
        yield Finding(True, "The fit did not converge", f"It {_ended(reason)}. {advice[reason]}")


def _ended(reason: StopReason) -> str:
    text = str(reason)
    return f"was {text}" if reason is StopReason.CALLBACK else text


def _empty(description: Description) -> Iterator[Finding]:
    empty = np.flatnonzero(description.counts == 0)
    if len(empty):
        few = "There are fewer distinct rows than clusters, or these are other data than the model was fitted to."
        yield Finding(True, f"{counted(len(empty), 'cluster')} without rows", f"{_clusters(empty)}. {few}")


def _dominating(description: Description) -> Iterator[Finding]:
    n_clusters = len(description.counts)
    share = description.counts / description.total_weight
    if n_clusters > 1 and share.max() > 0.5 + 0.5 / n_clusters:
        yield Finding(
            True,
            f"One cluster has {number(100 * share.max(), 3)} % of the rows",
            f"Cluster {int(share.argmax())} is nearly everything, and the others are what sticks out. Look for "
            "outliers and for features with long tails (take their logarithm), or scale the features.",
        )


def _scales(description: Description) -> Iterator[Finding]:
    variance = _variance(description)
    if len(variance) < 2 or not variance.sum() > 0:
        return
    order = np.argsort(-variance)
    few = max(1, int(FEW_FEATURES * len(variance)))
    share = float(variance[order[:few]].sum() / variance.sum())
    if share > OWNED + (1 - OWNED) / len(variance):
        names = [feature.name for feature in description.features]
        same = len(names) == len(variance)
        which = _listed([f"“{names[place]}”" if same else f"number {place}" for place in order[:few]])
        yield Finding(
            True,
            "The features are on very different scales",
            f"{which} {'has' if few == 1 else 'have'} {number(100 * share, 3)} % of the variance, so that the "
            f"{len(variance) - few} other features hardly count. If they should, scale them: --scale standard, or "
            "a StandardScaler before the estimator.",
        )


def _tiny(description: Description) -> Iterator[Finding]:
    counts = description.counts
    usual = float(counts.mean())
    tiny = (counts > 0) & (counts < TINY * usual)
    if not description.weighted and usual >= FEW_ROWS:
        tiny |= counts == 1
    places = np.flatnonzero(tiny)
    if len(places):
        rows = number(float(counts[places].sum()), 12)
        yield Finding(
            True,
            f"{counted(len(places), 'tiny cluster')}",
            f"{_clusters(places)}: {rows} of {number(description.total_weight, 12)} rows in all. Such clusters "
            "are often outliers: look at their rows before naming them, or ask for fewer clusters.",
        )


def _overlapping(description: Description) -> Iterator[Finding]:
    pairs = touching(description)
    if not pairs:
        return
    involved = len({cluster for a, b, _ in pairs for cluster in (a, b)})
    worst = _listed([f"{a} and {b}" for a, b, _ in pairs[:NAMED]], len(pairs) - NAMED)
    whose = "The first pair's" if len(pairs) > 1 else "Their"
    judged = np.bincount(description.sample.labels, minlength=len(description.counts)) >= ROWS_TO_JUDGE
    least = "" if judged.all() else "At least "
    yield Finding(
        True,
        f"{least}{involved} of {len(description.counts):,} clusters run into each other",
        f"There is no gap between clusters {worst}: the border cuts through rows, and rows near it could be in "
        f"either. {whose} centers are {number(pairs[0][2], 2)} times as far apart as their rows scatter; clear "
        "gaps begin at about 2. Fewer clusters may fit better; as bins of a continuum these are fine.",
    )


def _weak(description: Description) -> Iterator[Finding]:
    mean = description.silhouette
    if mean is not None and mean < WEAK:
        yield Finding(
            False,
            f"The mean silhouette is {mean:.2f}",
            "Below 0.25 the data have little structure of compact clusters by the usual reading, though with many "
            "features values are low in general. Compare other numbers of clusters: eulermeans sweep.",
        )


def _restarts(description: Description) -> Iterator[Finding]:
    ended = ended_restarts(description.model.estimator)
    if len(ended) > 1 and ended[-1] > (1 + APART) * ended[0]:
        good = int(np.sum(ended <= (1 + APART) * ended[0]))
        worst = number(100 * (ended[-1] / ended[0] - 1), 2) if ended[0] > 0 else "far"
        yield Finding(
            False,
            "The restarts ended in different places",
            f"{good} of {len(ended)} came within 1 % of the best; the worst was {worst} % above it. More effort "
            "makes it more likely that the best minimum is found.",
        )


def _constant(description: Description) -> Iterator[Finding]:
    constant = [feature.name for feature in description.features if feature.low == feature.high]
    if constant and description.n_rows > 1:
        names = _listed([f"“{name}”" for name in constant[:NAMED]], len(constant) - NAMED)
        yield Finding(
            False,
            f"{counted(len(constant), 'feature')} never {'changes' if len(constant) == 1 else 'change'}",
            f"{names} {'has' if len(constant) == 1 else 'have'} the same value in every row and can be left out.",
        )


def _data(description: Description) -> Iterator[Finding]:
    fitted = getattr(description.model.estimator, "objective_", None)
    if fitted is None:
        return
    here = description.objective
    if abs(here - fitted) > OTHER_DATA * max(abs(fitted), 1e-9 * description.single):
        yield Finding(
            False,
            "These are not the data that the model was fitted to",
            f"The objective was {number(float(fitted), 5)} there and is {number(here, 5)} here. All that this "
            "page says of sizes and features is about the data here.",
        )


def touching(description: Description) -> list[tuple[int, int, float]]:
    """Pairs of clusters without a gap between them: numbers, and the ratio that TOUCHING bounds; worst first.

    The rows of the sample are projected to the line between both centers.
    """
    sample, centers = description.sample, description.model.centers
    members = _members(sample.labels, len(centers))
    judged = [int(c) for c in np.argsort(-description.counts, kind="stable")[:MOST_JUDGED]]
    judged = [cluster for cluster in judged if len(members[cluster]) >= ROWS_TO_JUDGE]
    pairs: dict[tuple[int, int], float] = {}
    if len(judged) < 2:
        return []
    distances = cdist(centers[judged], centers[judged])
    for own, row in enumerate(distances):
        for other in np.argsort(row, kind="stable")[: NEIGHBORS + 1]:
            a, b = sorted((judged[own], judged[int(other)]))
            if a != b and (a, b) not in pairs and row[other] > 0:
                axis = (centers[b] - centers[a]) / row[other]
                scatter = [np.std(sample.points[members[cluster]] @ axis) for cluster in (a, b)]
                pairs[a, b] = float(row[other] / max(sum(scatter), 1e-300))
    return sorted(((a, b, ratio) for (a, b), ratio in pairs.items() if ratio < TOUCHING), key=lambda pair: pair[2])


def _members(labels: NDArray[np.int32], n_clusters: int) -> list[NDArray[np.intp]]:
    """The places of each cluster's rows."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(1, n_clusters)))


def _variance(description: Description) -> FloatArray:
    """Of each feature where clusters were made, on the sample."""
    points = description.sample.points
    if issparse(points):
        mean = np.asarray(points.mean(axis=0)).ravel()
        variance: FloatArray = np.asarray(points.multiply(points).mean(axis=0)).ravel() - mean**2
    else:
        variance = np.asarray(points, dtype=np.float64).var(axis=0)
    return variance


def _clusters(numbers: NDArray[np.intp]) -> str:
    names = _listed([str(int(cluster)) for cluster in numbers[:NAMED]], len(numbers) - NAMED)
    return f"{'Cluster' if len(numbers) == 1 else 'Clusters'} {names}"


def _listed(names: list[str], more: int = 0) -> str:
    """`a, b and c`, or `a, b, c and 7 more`."""
    if more > 0:
        return f"{', '.join(names)} and {more:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
