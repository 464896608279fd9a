"""From a bound with any centers to one with centers on the unit sphere, for metric="cosine".

A cluster with weight W_C, sum s_C and sum of squares Q_C costs Q_C + W_C − 2 ‖s_C‖ with the best unit center, and
Q_C − ‖s_C‖² / W_C with the mean. By Cauchy-Schwarz (Σ ‖s_C‖)² ≤ W Σ ‖s_C‖² / W_C. So if b bounds the optimal
inertia with means as centers,

    spherical optimum ≥ Q + W − 2 √(W (Q − b)).

Equality holds if all clusters are equally concentrated, ‖s_C‖ / W_C.
"""

from __future__ import annotations

import math

from .problem import EPS


def on_sphere(
    bound: float,  # on the inertia with means as centers
    squares: float,  # Q, the weighted sum of the squared norms of the points: their weight, if all norms are 1
    weight: float,  # W
    n_terms: int,  # how many terms were added up for an element of both sums
) -> float:
    """The bound on the inertia with unit vectors as centers."""
    gamma = (
        2 * (n_terms + 16) * EPS
    )  # relative error of both sums; they are taken low outside the root, high inside
    most = 2 * math.sqrt(weight * max(0.0, squares * (1 + gamma) - bound)) * (1 + gamma)
    return max(bound, (squares + weight) * (1 - gamma) - most)
