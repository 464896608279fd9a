"""What bounds for some random parts say about the whole, with what confidence.

The bounds of parts are random variables that are not negative and whose sum (or mean) the optimum bounds from
above. That alone is used; nothing is assumed about the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def checkpoints(n_planned: int, error: float) -> dict[int, float]:
    """After how many parts a bound is stated, and with what probability of error.

    All statements together fail with a probability of at most `error`. Nine tenths of it are for the last, the
    rest for earlier ones, each after half as many parts.
    """
    shares, count, share = {n_planned: 0.9 * error}, n_planned // 2, 0.05 * error
    while count >= 1:
        shares[count] = share
        count, share = count // 2, share / 2
    return shares


def from_disjoint_parts(bounds: Sequence[float], n_parts: int, error: float) -> float:
    """A bound on the whole from some of the parts of a partition, drawn without replacement.

    Let r be the smallest count with C(r, l) / C(n_parts, l) > error. With probability 1 − error, at least r
    parts have a bound of at least the least one drawn: otherwise all l draws fell among fewer than r parts. So
    the whole is at least the sum of what was drawn and r − l times the least.
    """
    drawn = len(bounds)
    if drawn == 0:
        return 0.0
    return math.fsum(bounds) + (_sure_count(drawn, n_parts, error) - drawn) * min(bounds)


def from_independent_samples(bounds: Sequence[float], error: float) -> float:
    """A bound on the mean from independent samples: by Markov's inequality, error^(1/l) times the least.

    Each bound v has a mean of at most m, so P(v ≥ t) ≤ m / t, and all l of them exceed t with a probability of
    at most (m / t)^l.
    """
    return error ** (1 / len(bounds)) * min(bounds) if bounds else 0.0


def _sure_count(drawn: int, n_parts: int, error: float) -> int:
    """The smallest r with C(r, drawn) / C(n_parts, drawn) > error; at least `drawn`."""
    count, log_chance = n_parts, 0.0
    while count > drawn:
        # C(count − 1, drawn) / C(count, drawn) = (count − drawn) / count
        log_chance += math.log((count - drawn) / count)
        if log_chance <= math.log(error) - 1e-9:
            return count
        count -= 1
    return count
