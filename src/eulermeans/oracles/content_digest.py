"""A question about the bytes of the data: it tells whether a later fit is given the same rows and weights."""

from __future__ import annotations

import hashlib

from .points import Points
from .question import Question

Digests = dict[int, bytes]  # of each block, by its number


class ContentDigest(Question[Digests]):
    """A digest of the rows and weights of each block, in their order."""

    def answer(self, points: Points) -> Digests:
        digest = hashlib.sha256(f"{points.n_points} rows of {points.n_features}".encode())
        for array in points.content():
            digest.update(array.data)
        if points.weights is not None:
            digest.update(b"weights")
            digest.update(points.weights.tobytes())
        return {points.block: digest.digest()}

    def merge(self, one: Digests, other: Digests) -> Digests:
        return one | other


def combined(digests: Digests) -> str:
    """One digest of all blocks, in the order of their numbers."""
    return hashlib.sha256(b"".join(digests[number] for number in sorted(digests))).hexdigest()
