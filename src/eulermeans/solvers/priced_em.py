"""EM with prices, for clusters of bounded size."""

from __future__ import annotations

from ..arrays import FloatArray
from ..oracles import Placer
from .iterate import Iterate, Solver


def priced_em(placer: Placer, centers: FloatArray) -> Solver:  # (n_clusters, n_features), IN
    """Place all points near the bounds by a pass, then move every center to the mean of its points.

    The placer keeps the prices, which improve from step to step along with the centers. The objective of an
    iterate is what placing within the bounds costs at least, at these prices and for the centers before the move:
    sizes need not be within the bounds yet.
    """
    while True:
        placed = placer.approach(centers)
        moments = placed.moments
        spread = moments.spread(placed.centers)
        centers = moments.means(otherwise=centers)
        yield Iterate(
            centers,
            max(0.0, placer.bounds.dual_cost(moments, placed.prices)) / (2 * moments.total_weight),
            spread,
            placer.oracle.n_points * placed.n_passes,
            exact=True,
            n_distances=moments.n_distances * placed.n_passes,
        )
