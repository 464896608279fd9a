"""The Peng-Wei relaxation, solved by the alternating direction method of multipliers, with cutting planes.

    minimise ⟨C, Z⟩ over Z ≥ 0 and the cuts (one block), and Z u = u, tr Z = K, 0 ⪯ Z ⪯ I (the other block).

The first block is a projection onto a polyhedron; the second projects the eigenvalues on the complement of u onto
{0 ≤ e ≤ 1, Σ e = K − 1}. The multipliers need not be exact: `safe_bound` makes a valid bound of any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..arrays import FloatArray
from .cuts import Cuts
from .problem import Problem
from .safe_bound import safe_bound

CHECK = 25  # iterations between two bounds
_RELAXATION = 1.6  # over-relaxation: 1 is plain ADMM
_CUT_STEPS = 3  # steps of the cuts' multipliers in one iteration
_IMBALANCE = 3.0  # of the residuals of both blocks, before the penalty is changed
_PENALTY_FACTOR = 1.5
_GAIN = 5e-3  # cuts are added once the bound gains less than this fraction between two checks
_LONGEST_ROUND = 500  # iterations after which cuts are added in any case
_STALLED = 1e-7  # relative: without new cuts, a bound that gains less in four checks is final


def tighten(problem: Problem) -> Iterator[float]:
    """Lower bounds on the optimal inertia, in the units of the problem, one after every few iterations.

    The first is the bound of principal components. Each is valid; they need not increase. Ends when nothing is
    gained any more.
    """
    yield safe_bound(problem)
    if problem.n_clusters == 1:
        return  # exact
    state = _State(problem)
    since_cuts, last, best, stalled = 0, -np.inf, -np.inf, 0
    while True:
        try:
            state.iterate(CHECK)
        except np.linalg.LinAlgError:  # no eigenvalues: the bounds so far stay valid
            return
        since_cuts += CHECK
        bound = state.bound()
        yield bound
        state.balance()
        stalled = 0 if bound > best + _STALLED * abs(best) else stalled + 1
        best = max(best, bound)
        settled = since_cuts >= 2 * CHECK and bound - last < _GAIN * abs(bound)
        if settled or since_cuts >= _LONGEST_ROUND:
            if state.cuts.update(state.point):
                stalled = 0
            elif stalled >= 4 and state.cuts.exhausted:
                return
            since_cuts = 0
        last = bound


class _State:
    """The iterates, in units in which the largest cost is 1."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._unit = problem.roots / np.linalg.norm(problem.roots)
        self._scale = float(problem.costs.max())
        self._costs = problem.costs / self._scale
        self._mean = np.multiply.outer(self._unit, self._unit)
        self._penalty = 0.3 * float(self._costs.mean()) * problem.n_points / math.sqrt(problem.n_clusters)
        self.point = self._mean.copy()  # (n, n) Z of the second block
        self._dual = np.zeros_like(self.point)  # (n, n) scaled multipliers of the equality of both blocks
        self._slack = np.zeros_like(self.point)  # (n, n) multipliers of Z ≥ 0, over the penalty
        self._residuals = (0.0, 0.0)
        self.cuts = Cuts(problem)

    def iterate(self, count: int) -> None:
        """Take `count` iterations."""
        costs, n_free = self._costs / self._penalty, self._problem.n_clusters - 1
        before = other = self.point
        for _ in range(count):
            before = self.point
            target = self.cuts.ascend(before - self._dual - costs, _CUT_STEPS)
            other = np.maximum(target, 0)
            self._slack = other - target
            mixed = _RELAXATION * other + (1 - _RELAXATION) * before + self._dual
            self.point = self._projected(mixed, n_free)
            self._dual = mixed - self.point
        self._residuals = (
            float(np.linalg.norm(other - self.point)),
            float(np.linalg.norm(before - self.point)) * self._penalty,
        )

    def bound(self) -> float:
        """The safe bound for the present multipliers."""
        scale = self._scale * self._penalty
        cuts = self.cuts.term(scale)
        allowed = self._problem.costs if cuts is None else self._problem.costs + cuts.total
        return safe_bound(self._problem, allowed - scale * self._slack, cuts)

    def balance(self) -> None:
        """Change the penalty where one block's residual is much larger than the other's."""
        primal, dual = self._residuals
        factor = 1.0
        if primal > _IMBALANCE * dual:
            factor = _PENALTY_FACTOR
        elif dual > _IMBALANCE * primal:
            factor = 1 / _PENALTY_FACTOR
        self._penalty *= factor
        self._dual /= factor
        self.cuts.multipliers /= factor

    def _projected(self, matrix: FloatArray, n_free: int) -> FloatArray:
        """The nearest Z with Z u = u, tr Z = K and eigenvalues in [0, 1], (n, n)."""
        unit = self._unit
        image = matrix @ unit
        # On the complement of u, and with u below all other eigenvectors.
        image -= 0.5 * (unit @ image - 2 * np.linalg.norm(matrix) - 1) * unit
        outer = np.multiply.outer(unit, image)
        values, vectors = np.linalg.eigh(matrix - (outer + outer.T))
        values, vectors = values[1:], vectors[:, 1:]
        projected = capped_simplex(values, n_free)
        positive = projected > 0
        chosen = vectors[:, positive]
        nearest: FloatArray = self._mean + (chosen * projected[positive]) @ chosen.T
        return nearest


def capped_simplex(values: FloatArray, total: float) -> FloatArray:
    """The nearest vector with elements in [0, 1] that add up to `total`, for values in ascending order.

    It is clip(values − t, 0, 1). Its sum falls piecewise linearly in t, with breaks at values and at values − 1.
    """
    breaks = np.sort(np.concatenate([values, values - 1]))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    above = np.searchsorted(values, breaks, side="right")  # values from here on exceed t
    capped = np.searchsorted(values, breaks + 1, side="left")  # values from here on exceed t by 1
    at_breaks = (len(values) - capped) + (sums[capped] - sums[above]) - (capped - above) * breaks
    shift = np.interp(-total, -at_breaks, breaks)
    projected: FloatArray = np.clip(values - shift, 0, 1)
    return projected
