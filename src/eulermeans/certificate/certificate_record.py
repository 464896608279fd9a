"""The certificate: how far from the optimum a clustering can be at most, and how that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

USELESS = 0.5  # a larger gap says little


@dataclass(frozen=True)
class BoundStep:
    """The best lower bound that was known at a time."""

    seconds: float
    lower_bound: float


@dataclass(frozen=True)
class Certificate:
    """A lower bound on the inertia of any K clusters, compared with the inertia of a clustering.

    `str()` gives a sentence. In a notebook, the certificate shows itself as a table with a picture.

    Examples
    --------
    >>> from eulermeans import certify
    >>> certificate = certify([[0.0], [2.0], [10.0], [12.0]], [[1.0], [11.0]])
    >>> print(certificate)
    The inertia 4 is at most 0.0001 % above the optimum, proven: no 2 clusters have an inertia below 4.
    >>> certificate.gap < 1e-6, certificate.proven
    (True, True)
    """

    lower_bound: float  #: no clustering into K clusters has a lower inertia
    inertia: float  #: of the clustering
    proven: bool  #: True: the bound holds; False: it holds with probability `confidence`
    confidence: float | None  #: over the random choice of samples; None for a proven bound
    method: str  #: how the bound was obtained
    n_clusters: int  #: K
    n_points: int  #: rows of the data
    seconds: float  #: that it took
    interrupted: bool  #: stopped by Ctrl-C
    history: tuple[BoundStep, ...]  #: the bound over time, increasing

    @property
    def gap(self) -> float:
        """(inertia − lower_bound) / inertia: the inertia can be lowered by this fraction at most; 0 if optimal."""
        return max(0.0, 1 - self.lower_bound / self.inertia) if self.inertia > 0 else 0.0

    @property
    def excess(self) -> float:
        """(inertia − optimum) / optimum is at most this; infinite without a positive bound."""
        if self.inertia <= self.lower_bound:
            return 0.0
        return self.inertia / self.lower_bound - 1 if self.lower_bound > 0 else float("inf")

    @property
    def is_useful(self) -> bool:
        """Whether the gap is at most 50 %."""
        return self.gap <= USELESS

    @property
    def at_most(self) -> str:
        """`excess` as a percentage, rounded up: `0.3 %`."""
        return _at_most(self.excess)

    @property
    def certainty(self) -> str:
        """`proven`, or `with 99 % confidence`."""
        return "proven" if self.proven else f"with {100 * (self.confidence or 0):.6g} % confidence"

    @property
    def sentence(self) -> str:
        """What is known, in words."""
        sure = self.certainty
        if self.is_useful:
            return (
                f"The inertia {self.inertia:.6g} is at most {_at_most(self.excess)} above the optimum, {sure}: "
                f"no {self._clusters} have an inertia below {self.lower_bound:.6g}."
            )
        return (
            f"No useful bound was found: the inertia is {self.inertia:.6g}, and it is only known ({sure}) that no "
            f"{self._clusters} have an inertia below {self.lower_bound:.6g}. {self._advice}"
        )

    @property
    def _clusters(self) -> str:
        return "single cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"

    @property
    def _advice(self) -> str:
        if self.n_clusters * 4 > self.n_points:
            return "With so few points per cluster, bounds are weak."
        if self.proven and "part" not in self.method:
            return "For data of this size, try confidence=0.99 or a larger max_time."
        return "A larger max_time may help."

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        from .certificate_chart import bound_chart

        rows = {
            "lower bound": f"{self.lower_bound:.6g}",
            "inertia": f"{self.inertia:.6g}",
            "gap": _at_most(self.gap),
            "certainty": self.certainty,
            "method": self.method,
            "time": f"{self.seconds:.1f} s" + (", interrupted" if self.interrupted else ""),
        }
        cells = "".join(
            f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in rows.items()
        )
        return f"<div><p>{escape(self.sentence)}</p><table>{cells}</table>{bound_chart(self)}</div>"


def _at_most(fraction: float) -> str:
    """A fraction as a percentage, rounded up in the last digit shown, so that it is never understated."""
    percent = 100 * fraction
    digits = 0 if percent >= 100 else 1 if percent >= 1 else 2 if percent >= 0.1 else 4
    return f"{math.ceil(percent * 10**digits) / 10**digits:.{digits}f} %" if percent else "0 %"
