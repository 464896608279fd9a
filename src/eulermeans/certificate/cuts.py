"""Pair and triangle inequalities, added where the relaxation violates them, and their multipliers.

Let Y_ij = Z_ij / (u_i u_j): 1 / W_C for points of the same cluster C, and 0 for points of different ones. So

    Y_ij ≤ Y_ii   and   Y_ij + Y_ik ≤ Y_ii + Y_jk

for every partition: if i is in a cluster with both j and k, then j is with k. Each is ⟨A_t, Z⟩ ≤ 0 with the
coefficients 1 / (u_i u_j); rows are divided by their norms, which changes nothing in what they say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..arrays import FloatArray
from .problem import Problem
from .safe_bound import CutTerm

_VIOLATION = 1e-3  # relative to the mean of Y_ii: weaker violations are not worth a cut at first
_LEAST_VIOLATION = 1e-5  # and never
_NEW_PER_POINT = 20  # at most this many new cuts for each point in one round


@dataclass(frozen=True)
class Triples:
    """One inequality for each (i, j, k) with j < k; a pair inequality where j = k."""

    i: NDArray[np.int64]  # (n_cuts,)
    j: NDArray[np.int64]  # (n_cuts,)
    k: NDArray[np.int64]  # (n_cuts,)

    def __len__(self) -> int:
        return len(self.i)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Triples:
        return Triples(self.i[chosen], self.j[chosen], self.k[chosen])

    def __add__(self, other: Triples) -> Triples:
        return Triples(
            np.concatenate([self.i, other.i]), np.concatenate([self.j, other.j]), np.concatenate([self.k, other.k])
        )

    def keys(self, n: int) -> NDArray[np.int64]:
        """A number for each triple, (n_cuts,)."""
        return (self.i * n + self.j) * n + self.k


class Cuts:
    """The inequalities in use, with their multipliers."""

    def __init__(self, problem: Problem) -> None:
        self._n = problem.n_points
        self._inverse = 1 / problem.roots
        none = np.zeros(0, dtype=np.int64)
        self.triples = Triples(none, none, none)
        self.multipliers = np.zeros(0)  # (n_cuts,) not negative
        self._violation = _VIOLATION
        self._set_matrix()

    def __len__(self) -> int:
        return len(self.multipliers)

    def ascend(self, matrix: FloatArray, n_steps: int) -> FloatArray:
        """Steps towards the multipliers that project `matrix`, (n, n), onto the polyhedron {Z ≥ 0, cuts}.

        The multipliers are changed; returned is `matrix` less the cuts' pull, before negative entries are cut off.
        """
        if not len(self):
            return matrix
        flat = matrix.ravel()
        for _ in range(n_steps):
            violation = self._matrix @ np.maximum(flat - self._transposed @ self.multipliers, 0)
            self.multipliers = np.maximum(self.multipliers + self._steps * violation, 0)
        pulled: FloatArray = (flat - self._transposed @ self.multipliers).reshape(matrix.shape)
        return pulled

    def term(self, scale: float) -> CutTerm | None:
        """Σ λ_t A_t with λ = scale · multipliers."""
        if not len(self):
            return None
        shape = (self._n, self._n)
        total = (self._transposed @ (scale * self.multipliers)).reshape(shape)
        magnitude = (abs(self._transposed) @ (scale * self.multipliers)).reshape(shape)
        most_terms = int(np.diff(self._transposed.indptr).max())
        return CutTerm(total, magnitude, most_terms)

    def update(self, matrix: FloatArray) -> int:
        """Drop the cuts that do nothing at `matrix`, (n, n), add violated ones, and return how many were added.

        Where there are none, the next call looks for weaker violations.
        """
        scaled = matrix * self._inverse[:, None] * self._inverse
        tolerance = self._violation * float(np.trace(scaled)) / self._n
        if len(self):
            kept = (self.multipliers > 0) | (self._matrix @ matrix.ravel() > -tolerance)
            self.triples, self.multipliers = self.triples[kept], self.multipliers[kept]
        found = violated(scaled, tolerance, _NEW_PER_POINT * self._n)
        new = found[~np.isin(found.keys(self._n), self.triples.keys(self._n))]
        self.triples = self.triples + new
        self.multipliers = np.concatenate([self.multipliers, np.zeros(len(new))])
        self._set_matrix()
        if len(new) == 0:
            self._violation = max(self._violation / 10, _LEAST_VIOLATION)
        return len(new)

    @property
    def exhausted(self) -> bool:
        """Whether even the weakest violations are looked for."""
        return self._violation == _LEAST_VIOLATION

    def _set_matrix(self) -> None:
        n, inverse = self._n, self._inverse
        i, j, k = self.triples.i, self.triples.j, self.triples.k
        cut = np.arange(len(i))
        three = cut[j != k]
        rows, columns, values = [], [], []
        for some, a, b, sign in ((cut, i, j, 1), (three, i, k, 1), (cut, i, i, -1), (three, j, k, -1)):
            a, b = a[some], b[some]
            value = sign * 0.5 * inverse[a] * inverse[b]  # half on each side of the diagonal
            rows += [some, some]
            columns += [a * n + b, b * n + a]
            values += [value, value]
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        matrix = sparse.csr_array(entries, shape=(len(i), n * n))
        norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
        matrix = sparse.csr_array(sparse.diags_array(1 / norms) @ matrix)
        self._matrix, self._transposed = matrix, sparse.csr_array(matrix.T)
        # Steps for which a Jacobi sweep over all cuts converges: one over the row sums of |A| |A|ᵀ.
        self._steps = 1 / (abs(matrix) @ (abs(self._transposed) @ np.ones(len(i))))


def violated(
    scaled: FloatArray,  # (n, n) Y, IN
    tolerance: float,
    most: int,
) -> Triples:
    """The inequalities that Y violates by more than the tolerance; the `most` worst of them, about."""
    n, diagonal = len(scaled), scaled.diagonal()
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    each = max(50, 8 * most // n)
    excess = scaled - diagonal[:, None]
    first, second = np.nonzero(excess > tolerance)
    parts, amounts = [Triples(first, second, second)], [excess[first, second]]
    for i, row in enumerate(scaled):
        excess = row[:, None] + row - scaled
        j, k = np.nonzero((excess > diagonal[i] + tolerance) & upper)
        other = (j != i) & (k != i)
        j, k = j[other], k[other]
        amount = excess[j, k] - diagonal[i]
        worst = _largest(amount, each)
        parts.append(Triples(np.full(len(worst), i), j[worst], k[worst]))
        amounts.append(amount[worst])
    found = Triples(*(np.concatenate([getattr(part, name) for part in parts]) for name in "ijk"))
    return found[_largest(np.concatenate(amounts), most)]


def _largest(values: FloatArray, count: int) -> NDArray[np.int64]:
    """Where the `count` largest values are, in ascending order of place."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.sort(np.argpartition(values, len(values) - count)[len(values) - count :])
