"""Checks the bounds on the sizes of clusters that users give."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TypeAlias

from ..oracles import LargestWeight, Oracle, SizeBounds
from ..storage import BoundsCost, cost_of_bounds

Size: TypeAlias = int | float | None


def checked_bounds(size_min: Size, size_max: Size, n_clusters: int, oracle: Oracle) -> SizeBounds:
    """The bounds in points, or in weight if the points have weights; an error if they cannot be met."""
    total = float(oracle.n_points) if oracle.unweighted else oracle.total_weight
    lowest, highest = _absolute_bounds(size_min, size_max, total, whole=oracle.unweighted)
    what = "samples" if oracle.unweighted else "weight"
    if lowest > highest:
        fix = "" if size_min != size_max else f"; give numbers of samples, such as {_equal(total, n_clusters)}"
        raise ValueError(f"size_min={_said(size_min, lowest)} is above size_max={_said(size_max, highest)}{fix}.")
    if n_clusters * lowest > total * (1 + 1e-12):
        raise ValueError(
            f"size_min={_said(size_min, lowest)} is too large: {n_clusters} clusters of at least {lowest:g} need "
            f"{n_clusters * lowest:g} {what}, but there are {total:g}; give at most {_floor(total, n_clusters)}."
        )
    if n_clusters * highest < total * (1 - 1e-12):
        raise ValueError(
            f"size_max={_said(size_max, highest)} is too small: {n_clusters} clusters of at most {highest:g} hold "
            f"{n_clusters * highest:g} {what}, but there are {total:g}; give at least {_ceil(total, n_clusters)}."
        )
    if not oracle.unweighted and highest < total:
        heaviest = oracle.ask(LargestWeight())
        if heaviest > highest * (1 + 1e-12):
            raise ValueError(
                f"size_max={_said(size_max, highest)} is too small: a sample has a weight of {heaviest:g}, and "
                f"samples are not cut; give at least {heaviest:g}."
            )
    return SizeBounds(float(lowest), float(highest))


def possible_numbers(size_min: Size, size_max: Size, total: float, n_points: int, *, whole: bool) -> range:
    """The numbers of clusters that can keep the bounds; empty if there are none.

    `total` is the number of points if sizes are `whole` numbers of points, else the weight.
    """
    lowest, highest = _absolute_bounds(size_min, size_max, total, whole=whole)
    if highest < lowest or not highest > 0:
        return range(1, 1)
    fewest = math.ceil(total / highest * (1 - 1e-12))
    most = n_points if lowest <= 0 else min(n_points, math.floor(total / lowest * (1 + 1e-12)))
    return range(max(1, fewest), most + 1)


def bounds_cost(estimator: object) -> BoundsCost | None:
    """What the bounds of a fitted model cost; None for a model without any."""
    bounds, unbounded = (getattr(estimator, name, None) for name in ("size_bounds_", "unbounded_objective_"))
    return cost_of_bounds(bounds, unbounded, getattr(estimator, "objective_", None))


def _absolute_bounds(size_min: Size, size_max: Size, total: float, *, whole: bool) -> tuple[float, float]:
    """The bounds in points or in weight."""
    lowest, highest = _absolute(size_min, total, default=0.0), _absolute(size_max, total, default=total)
    if not whole:
        return lowest, highest
    # A fraction of all points need not be whole; rounding errors of the product do not count.
    return math.ceil(lowest - 1e-9 * total), math.floor(highest + 1e-9 * total)


def _absolute(size: Size, total: float, default: float) -> float:
    if size is None:
        return default
    return float(size) if isinstance(size, Integral) else float(size) * total


def _said(given: Size, absolute: float) -> str:
    """A bound as it was given, and what that means if it is a fraction."""
    return f"{given}" if given is None or isinstance(given, Integral) else f"{given:g} ({absolute:g})"


def _equal(total: float, n_clusters: int) -> str:
    """The bounds that make sizes as equal as they can be."""
    return f"size_min={_floor(total, n_clusters)} and size_max={_ceil(total, n_clusters)} for equal sizes"


def _floor(total: float, n_clusters: int) -> str:
    return f"{math.floor(total / n_clusters)}"


def _ceil(total: float, n_clusters: int) -> str:
    return f"{math.ceil(total / n_clusters)}"
