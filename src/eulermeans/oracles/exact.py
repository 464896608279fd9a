"""Sums that do not depend on their order.

The moments of partitions are added wherever the partitions happen to lie, so in an order that nobody chose.
Floating point would round differently each time. Here every value is first rounded to a grid that all agree on, to
two whole numbers; whole numbers add without rounding, in any order. Does not know who adds them, or where.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from ..moments import Moments

COARSE_BITS, FINE_BITS = (
    50,
    102,
)  # of a value as large as the bound; float64 adds whole numbers below 2**53 exactly
LARGEST, SMALLEST = 1023, -900  # exponents of the bound, such that no unit overflows or vanishes

Digits = dict[str, FloatArray]  # (2, ...) whole numbers of coarse and fine units, by the names of the moments


@dataclass(frozen=True)
class Grid:
    """Values of which at most `n_terms` are added, where the sum of their magnitudes is below `bound`."""

    bound: float
    n_terms: int

    @property
    def _exponent(self) -> int:
        exponent = math.frexp(self.bound)[1] if math.isfinite(self.bound) else LARGEST
        return min(max(exponent, SMALLEST), LARGEST)

    @property
    def _units(self) -> tuple[int, int]:
        """The exponents of the two units; what the coarse one leaves of n terms has to fit into the fine one."""
        spare = (self.n_terms - 1).bit_length()
        return self._exponent - COARSE_BITS, self._exponent - FINE_BITS + spare

    def digits(self, values: FloatArray) -> FloatArray:
        """The values in coarse and fine units, (2, *shape). What is not finite stays so."""
        coarse_unit, fine_unit = self._units
        coarse = np.rint(np.ldexp(values, -coarse_unit))
        with np.errstate(invalid="ignore"):
            rest = np.where(np.isfinite(values), values - np.ldexp(coarse, coarse_unit), 0.0)
        return np.stack([coarse, np.rint(np.ldexp(rest, -fine_unit))])

    def values(self, digits: FloatArray) -> FloatArray:
        """The values of digits, or of their sum: rounded once."""
        coarse_unit, fine_unit = self._units
        values: FloatArray = np.ldexp(digits[0], coarse_unit) + np.ldexp(digits[1], fine_unit)
        return values


@dataclass(frozen=True)
class Scale:
    """The grids for the moments of partitions."""

    total_weight: float
    largest: float  # magnitude of a value of the points
    largest_center: float  # and of the centers
    n_features: int
    n_terms: int

    def digits(self, moments: Moments) -> Digits:
        """The moments of a partition, ready to be added."""
        values = {
            "counts": moments.counts,
            "sums": moments.sums,
            "cost": np.array([moments.cost]),
            "errors": moments.errors,
            "utilities": moments.utilities,
        }
        return {name: self._grid(name).digits(value) for name, value in values.items() if value is not None}

    def moments(self, digits: Digits, n_distances: int) -> Moments:
        """What the sum of all digits stands for."""
        values = {name: self._grid(name).values(value) for name, value in digits.items()}
        return Moments(
            counts=values["counts"],
            sums=values["sums"],
            cost=float(values["cost"][0]),
            errors=values.get("errors"),
            utilities=values.get("utilities"),
            n_distances=n_distances,
        )

    def _grid(self, name: str) -> Grid:
        """‖x − c‖² ≤ d (|x| + |c|)²; twice that leaves room for the rounding of the distances."""
        farthest = self.n_features * (self.largest + self.largest_center) ** 2
        magnitude = {"counts": 1.0, "sums": self.largest}.get(name, 2 * farthest)
        return Grid(self.total_weight * magnitude, self.n_terms)


def added(answers: Iterable[Digits]) -> Digits:
    """The sum of digits, which is the same in any order."""
    total: Digits = {}
    for answer in answers:
        for name, digits in answer.items():
            total[name] = total[name] + digits if name in total else digits
    return total
