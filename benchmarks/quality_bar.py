"""The project's bar, line by line, judged by the runs of the quality benchmark."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from quality_methods import (
    BKMEANS,
    FLSPP,
    KMEANS_1,
    KMEANS_10,
    MINIBATCH,
    MINIBATCH_8192,
    OURS,
    OURS_FAST,
    OURS_RANDOM,
    OURS_SAMPLED,
)
from quality_report import Results
from quality_sets import LARGE

EQUAL = 0.005  # points of excess: what two decimals can't tell apart
SIZE_THAT_COUNTS = 20_000  # N·d, below which a fit takes no time worth comparing


@dataclass(frozen=True)
class Verdict:
    claim: str
    found: str
    met: bool | None  # None: who or what it speaks of did not run

    @property
    def word(self) -> str:
        return "not judged" if self.met is None else "met" if self.met else "MISSED"

    def line(self) -> str:
        return f"{self.word:10s}  {self.claim}: {self.found}"


def bar(results: Results, our_failures: int) -> list[Verdict]:
    """Each line that the runs allow to judge."""
    return [
        *against(results, BKMEANS, tolerance=0.05, median_at_most=1 / 2, on_every_set=True),
        *half_of_the_excess(results),
        *against(results, KMEANS_10, tolerance=EQUAL, median_at_most=1 / 3, on_every_set=True),
        *against(results, FLSPP, tolerance=EQUAL, median_at_most=1 / 2, on_every_set=False),
        *on_mnist(results),
        *on_large(results),
        *robustness(results),
        Verdict("no run of ours failed or gave what is not finite", f"{our_failures} did", our_failures == 0),
    ]


def against(
    results: Results, peer: str, *, tolerance: float, median_at_most: float, on_every_set: bool
) -> list[Verdict]:
    names = results.shared(peer)
    if not names:
        return [Verdict(f"{peer}: objective and time", "it did not run beside ours", None)]
    behind = {
        name: results.scores[name, OURS].mean - results.scores[name, peer].mean
        for name in names
        if results.scores[name, OURS].mean > results.scores[name, peer].mean + tolerance
    }
    listed = ", ".join(f"{name} by {points:.3f} points" for name, points in behind.items())
    claim = f"{peer}: objective not worse on any set (tolerance {tolerance} points)"
    found = [Verdict(claim, listed or f"on none of {len(names)}", not behind)]
    ours = {name: 1 / results.relative_time(name, peer) for name in names}
    if on_every_set:
        slow = [f"{name} {ratio:.2f}" for name, ratio in ours.items()
                if ratio > 1 and results.sizes[name] >= SIZE_THAT_COUNTS]  # fmt: skip
        claim = f"{peer}: not slower where N·d ≥ {SIZE_THAT_COUNTS}"
        found.append(Verdict(claim, ", ".join(slow) or "on no set", not slow))
    median = statistics.median(ours.values())
    other = "CPU" if results.clock == "wall" else "wall"
    too = statistics.median(1 / results.relative_time(name, peer, other) for name in names)
    claim = f"{peer}: our median time at most {median_at_most:.2f} of its"
    return [*found, Verdict(claim, f"{median:.2f} ({other} time {too:.2f})", median <= median_at_most)]


def half_of_the_excess(results: Results) -> list[Verdict]:
    names = [name for name in results.shared(BKMEANS) if results.scores[name, BKMEANS].mean > 0.3]
    if not names:
        return []
    pairs = {name: (results.scores[name, OURS].mean, results.scores[name, BKMEANS].mean) for name in names}
    listed = ", ".join(f"{name} {ours:.2f} of {theirs:.2f}" for name, (ours, theirs) in pairs.items())
    met = all(ours <= theirs / 2 for ours, theirs in pairs.values())
    return [Verdict("bkmeans: at most half of its excess where that is above 0.3", listed, met)]


def on_mnist(results: Results) -> list[Verdict]:
    ours = results.scores.get(("mnist", OURS))
    if ours is None:
        return [Verdict("mnist", "did not run", None)]
    n = len(ours.excesses)
    found = [
        Verdict("mnist: mean excess at most 0.02 %", f"{ours.mean:.4f}", ours.mean <= 0.02),
        Verdict(f"mnist: worst of {n} at most 0.1 %", f"{ours.worst:.4f}", ours.worst <= 0.1),
    ]
    for peer, at_most in ((KMEANS_1, 1 / 5), (BKMEANS, 1 / 40), (KMEANS_10, 1 / 40)):
        ratio = results.relative_time("mnist", peer)
        if ratio is not None:
            claim = f"mnist: time at most {at_most:.3f} of {peer}'s"
            found.append(Verdict(claim, f"{1 / ratio:.3f}", 1 / ratio <= at_most))
    return found


def on_large(results: Results) -> list[Verdict]:
    scores = {method: score for (problem, method), score in results.scores.items() if problem == LARGE}
    peers = [scores[name] for name in (MINIBATCH, MINIBATCH_8192) if name in scores]
    ours = {name: scores[name] for name in (OURS, OURS_SAMPLED, OURS_FAST) if name in scores}
    if len(peers) < 2 or not ours:
        return [Verdict("large: MiniBatchKMeans", "did not run; see --large", None)]
    clock = results.clock
    default, large_batch = (peer.time(clock) for peer in peers)
    faster, best_peer = min(default, large_batch), min(peer.mean for peer in peers)
    found = []
    for name, score in ours.items():
        lower = 100 * (1 - (100 + score.mean) / (100 + best_peer))
        of_faster, of_default = score.time(clock) / faster, score.time(clock) / default
        times = f"{of_faster:.2f} of the faster one's and {of_default:.2f} of the default's time"
        told = f"{lower:.2f} % lower in {times}"
        if name != OURS_FAST:
            claim = f"large: {name} 1 % lower than MiniBatchKMeans in half of the faster one's time"
            found.append(Verdict(claim, told, lower >= 1 and of_faster <= 1 / 2))
        else:  # of our rows the one that stops soonest after it has passed their objective
            claim = f"large: {name} at its objective in 1/4 of the faster one's and 1/10 of the default's time"
            found.append(Verdict(claim, told, lower >= 0 and of_faster <= 1 / 4 and of_default <= 1 / 10))
    return found


def robustness(results: Results) -> list[Verdict]:
    names = [name for name in results.problems if name != LARGE and (name, OURS) in results.scores]
    if not names:
        return []
    worst = max(names, key=lambda name: results.scores[name, OURS].worst)
    highest = results.scores[worst, OURS].worst
    found = [
        Verdict(
            "worst case: never more than 5 % above the best known", f"{highest:.2f} % on {worst}", highest <= 5
        )
    ]
    both = results.shared(OURS_RANDOM)
    if both:
        apart = {
            name: abs(results.scores[name, OURS].mean - results.scores[name, OURS_RANDOM].mean) for name in both
        }
        most = max(apart, key=apart.__getitem__)
        claim = 'init="random" within 0.3 points of "k-means++" on every set'
        found.append(Verdict(claim, f"at most {apart[most]:.3f}, on {most}", apart[most] < 0.3))
    return found
