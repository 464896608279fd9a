"""A lower bound on the optimal inertia that holds however inexactly the relaxation was solved.

Let Z be the matrix of the best partition (see `problem`): 0 ⪯ Z ⪯ I, tr Z = K, Z ≥ 0 and Z u = u. For every
symmetric M ≤ C (entry by entry), every vector y, and N = M + y uᵀ + u yᵀ

    optimum = ⟨C, Z⟩ ≥ ⟨M, Z⟩ = ⟨N, Z⟩ − 2 yᵀu ≥ (sum of the K smallest eigenvalues of N) − 2 yᵀu.

The best y makes u an eigenvector of N with the smallest eigenvalue. With valid inequalities ⟨A_t, Z⟩ ≤ 0 and
multipliers λ_t ≥ 0, C may be replaced by C + Σ λ_t A_t. What rounding can do is bounded by the residual of the
eigenvectors that were computed, so nothing is assumed about the routine that computed them. Only the standard
model of floating-point arithmetic is used: each operation has a relative error of at most EPS / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from .problem import EPS, Problem

_INFLATE = 1 + 1e-6  # covers the rounding of the error bounds themselves


@dataclass(frozen=True)
class CutTerm:
    """Σ λ_t A_t as it was computed, with what is needed to bound its rounding."""

    total: FloatArray  # (n, n) symmetric
    magnitude: FloatArray  # (n, n) Σ λ_t |A_t|
    most_terms: int  # the largest number of terms that were added up for an entry


def safe_bound(
    problem: Problem,
    proposal: FloatArray | None = None,  # (n, n) symmetric, IN: M, the result of the relaxation; None: M = C
    cuts: CutTerm | None = None,
) -> float:
    """A lower bound on the optimal inertia, in the units of the problem; −inf if no bound could be computed."""
    allowed, rounding = problem.costs, 0.0
    if cuts is not None:
        allowed = problem.costs + cuts.total
        rounding = _norm(cuts.magnitude) * (cuts.most_terms + 16) * EPS + _norm(allowed) * EPS
    matrix = allowed if proposal is None else np.minimum(allowed, proposal)
    matrix = np.minimum(matrix, matrix.T)

    roots = problem.roots
    unit = roots / np.sqrt(roots @ roots)
    image = matrix @ unit
    mean = float(unit @ image)
    lowest = -_norm(matrix)  # no eigenvalue is below, so u comes first
    shift = (0.5 * (lowest + mean) * unit - image) / np.sqrt(roots @ roots)
    outer = np.multiply.outer(shift, roots)
    shifted = matrix + (outer + outer.T)
    # shifted is symmetric: addition commutes. Each entry was rounded at most four times.
    rounding += 4 * EPS * (_norm(matrix) + 2 * _norm(outer))

    total = smallest_eigenvalues(shifted, problem.n_clusters)
    constant = 2 * float(shift @ roots)
    rounding_of_dot = 2 * (len(roots) + 2) * EPS * float(np.abs(shift) @ roots)
    # |⟨E, Z⟩| ≤ ‖E‖ ‖Z‖ ≤ ‖E‖ √K for every error matrix E.
    lost = (rounding * np.sqrt(problem.n_clusters) + rounding_of_dot) * _INFLATE
    bound = total - constant - lost - 4 * EPS * (abs(total) + abs(constant))
    return float(bound) if np.isfinite(bound) else -np.inf


def smallest_eigenvalues(matrix: FloatArray, count: int) -> float:
    """A lower bound on the sum of the `count` smallest eigenvalues of a symmetric matrix, rounding included.

    Computed are V and e with matrix = V diag(e) Vᵀ + R. The i-th eigenvalue of V diag(e) Vᵀ is θ_i e_i with
    |θ_i − 1| ≤ ‖VᵀV − I‖ (Ostrowski), and R moves the sum by at most ‖R‖ √count.
    """
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return -np.inf
    n = len(values)
    residual = matrix - (vectors * values) @ vectors.T
    defect = vectors.T @ vectors
    defect[np.diag_indices(n)] -= 1
    # A sum of n products has an error of at most (n + 2) EPS times the sum of their magnitudes. As matrices, these
    # sums have norms of at most Σ |e_i| ‖v_i‖² for V diag(e) Vᵀ, and ‖V‖² = Σ ‖v_i‖² for VᵀV.
    gamma, size = (n + 4) * EPS, float(np.sum(vectors**2))
    skew = (_norm(defect) + gamma * size) * _INFLATE
    spread = _norm(residual) + gamma * float(np.abs(values).sum()) * (1 + skew) + EPS * _norm(matrix)
    chosen = values[:count]
    lost = (spread * np.sqrt(count) + skew * float(np.abs(chosen).sum())) * _INFLATE
    return float(chosen.sum() - lost - (count + 2) * EPS * np.abs(chosen).sum())


def _norm(matrix: FloatArray) -> float:
    """The Frobenius norm."""
    return float(np.linalg.norm(matrix))
