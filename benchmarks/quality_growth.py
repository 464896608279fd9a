"""How the time of a method grows with the number of clusters and of points: exponents fitted on log axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from quality_results import ProblemFacts, Results

FEWEST = 3  # sizes that an exponent is fitted to
AXES = {"K": "n_clusters", "N": "n_points"}


@dataclass(frozen=True)
class Growth:
    """The times of a method on one family of sets as K or N grows, the other being fixed."""

    family: str
    along: str  # "K" or "N"
    fixed: int  # the other one
    method: str
    sizes: list[int]
    seconds: list[float]
    exponent: float  # of seconds ~ size^exponent

    @property
    def title(self) -> str:
        other = "N" if self.along == "K" else "K"
        return f"{self.family}, {other} = {self.fixed:,}"


def fitted_exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growths(results: Results, along: str) -> list[Growth]:
    """One for each method and each group of at least three problems that differ only in K, or only in N."""
    groups: dict[tuple[str, int], list[ProblemFacts]] = {}
    for name in results.problems:
        facts = results.facts[name]
        fixed = facts.n_points if along == "K" else facts.n_clusters
        groups.setdefault((facts.family, fixed), []).append(facts)
    found = []
    for (family, fixed), members in groups.items():
        members = sorted(members, key=lambda facts: getattr(facts, AXES[along]))
        for method in results.methods:
            ran = [facts for facts in members if (facts.name, method) in results.scores]
            if len(ran) >= FEWEST:
                sizes = [getattr(facts, AXES[along]) for facts in ran]
                seconds = [results.seconds(facts.name, method) for facts in ran]
                exponent = fitted_exponent(sizes, seconds)
                found.append(Growth(family, along, fixed, method, sizes, seconds, exponent))
    return found
