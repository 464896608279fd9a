"""EM with prices, for clusters of bounded size."""

from __future__ import annotations

from ..arrays import FloatArray
from ..oracles import Placer
from .iterate import Iterate, Solver


def priced_em(placer: Placer, centers: FloatArray) -> Solver:  # (n_clusters, n_features), IN
    """Place all points at little cost within the bounds, then move every center to the mean of its points.

    The objective of an iterate is that of the centers before the move. The placer keeps the prices, which improve
    from step to step along with the centers.
    """
    while True:
        placed = placer.place(centers, most_passes=1)
        moments = placed.moments
        spread = moments.spread(placed.centers)
        centers = moments.means(otherwise=centers)
        yield Iterate(
            centers,
            moments.objective,
            spread,
            placer.oracle.n_points * placed.n_passes,
            exact=True,
            n_distances=moments.n_distances * placed.n_passes,
        )
