"""Sums with the same bits in any order.

Workers of a cluster answer in an order that nobody controls, and floating-point sums round differently in each.
So every value is first rounded to a grid that all workers agree on, as two whole numbers; whole numbers add
without rounding. Does not know what the sums are of, nor who adds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

import numpy as np

from ..arrays import Array, FloatArray
from .points import Points
from .question import Answer, Question, Sum

if TYPE_CHECKING:
    from typing_extensions import Self

COARSE_BITS = (
    50  # of a value as large as the bound, in coarse units: float64 adds whole numbers below 2**53 exactly
)
FINE_BITS = 102  # the same in fine units, before bits are given up for the number of terms
LARGEST, SMALLEST = 1023, -900  # exponents of the bound between which no unit overflows or underflows

Digits = dict[str, FloatArray]  # (2, ...) whole numbers of coarse and fine units, by the names of the arrays


@dataclass(frozen=True)
class Extent:
    """How much data there is, and how large its values are: what bounds every sum."""

    total_weight: float
    largest: float  # magnitude of a value of the points
    n_features: int
    n_parts: int  # at most this many terms are added


@dataclass(frozen=True)
class Grid:
    """A grid for values of which at most `n_terms` are added, with the sum of their magnitudes below `bound`."""

    bound: float
    n_terms: int

    @property
    def _exponent(self) -> int:
        exponent = math.frexp(self.bound)[1] if math.isfinite(self.bound) else LARGEST
        return min(max(exponent, SMALLEST), LARGEST)

    @property
    def _units(self) -> tuple[int, int]:
        """The exponents of the two units; the remainders of n terms must fit into fine units."""
        spare = (self.n_terms - 1).bit_length()
        return self._exponent - COARSE_BITS, self._exponent - FINE_BITS + spare

    def digits(self, values: FloatArray) -> FloatArray:
        """The values in coarse and fine units, (2, *shape). Values that are not finite stay so."""
        coarse_unit, fine_unit = self._units
        coarse = np.rint(np.ldexp(values, -coarse_unit))
        with np.errstate(invalid="ignore"):
            rest = np.where(np.isfinite(values), values - np.ldexp(coarse, coarse_unit), 0.0)
        return np.stack([coarse, np.rint(np.ldexp(rest, -fine_unit))])

    def values(self, digits: FloatArray) -> FloatArray:
        """The values of digits, or of a sum of digits: rounded once."""
        coarse_unit, fine_unit = self._units
        values: FloatArray = np.ldexp(digits[0], coarse_unit) + np.ldexp(digits[1], fine_unit)
        return values


@dataclass(frozen=True)
class OrderIndependent(Question[Digits], Generic[Answer]):
    """A sum, asked so that its answers add up to the same bits in any order."""

    question: Sum[Answer]
    grids: dict[str, Grid]

    def answer(self, points: Points) -> Digits:
        arrays = self.question.to_arrays(self.question.answer(points))
        return {name: self.grids[name].digits(array) for name, array in arrays.items()}

    def merge(self, one: Digits, other: Digits) -> Digits:
        return {name: digits + other[name] for name, digits in one.items()}

    def total(self, digits: Digits) -> Answer:
        """The answer that a sum of digits stands for."""
        return self.question.from_arrays({name: self.grids[name].values(array) for name, array in digits.items()})

    def map_centers(self, function: Callable[[Array], Array]) -> Self:
        return replace(self, question=self.question.map_centers(function))

    @property
    def blocks(self) -> Collection[int] | None:
        return self.question.blocks

    def part(self, blocks: Collection[int]) -> Self:
        return replace(self, question=self.question.part(blocks))
