"""Objective against time: what our efforts reach in the time that each peer takes."""

from __future__ import annotations

from dataclasses import dataclass

from quality_methods import EFFORTS, METHODS
from quality_results import Results


@dataclass(frozen=True)
class EqualTime:
    """A peer, and the best of our efforts that took no longer."""

    problem: str
    peer: str
    seconds: float
    excess: float  # the peer's mean, in per cent
    effort: float | None  # None: all of ours took longer
    our_seconds: float | None
    our_excess: float | None


def curve(results: Results, problem: str, family: str) -> list[tuple[str, float, float]]:
    """Method, seconds and mean excess of each member of a family that ran, by time."""
    members = [name for name in results.methods if METHODS[name].family == family]
    points = [
        (name, results.seconds(problem, name), results.scores[problem, name].mean)
        for name in members
        if (problem, name) in results.scores
    ]
    return sorted(points, key=lambda point: point[1])


def at_equal_time(results: Results) -> list[EqualTime]:
    found = []
    for problem in results.problems:
        ours = {
            effort: (results.scores[problem, name].mean, results.seconds(problem, name))
            for effort, name in EFFORTS.items()
            if (problem, name) in results.scores
        }
        for peer in results.methods:
            score = results.score(problem, peer)
            if score is None or METHODS[peer].ours:
                continue
            seconds = results.seconds(problem, peer)
            within = [effort for effort in ours if ours[effort][1] <= seconds]
            best = min(within, key=lambda effort: ours[effort], default=None)
            excess, took = ours[best] if best is not None else (None, None)
            found.append(EqualTime(problem, peer, seconds, score.mean, best, took, excess))
    return found
