"""Missing values, which are NaN in the chunks of a source: counted, filled in, or their rows left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, arithmetic_dtype
from ..features import Missing
from .row_sample import RowSample
from .source import CHUNK_BYTES, PASS_BYTES, Chunk, Source, SourceError, WrappedSource
from .value_checks import check_chunk

_SAMPLE_BYTES = 64 << 20  # of the rows that a median is computed from
_MOST_SAMPLED, _FEWEST_SAMPLED = 100_000, 1000  # rows


@dataclass(frozen=True)
class MissingCounts:
    """How many values are missing."""

    by_feature: NDArray[np.int64]  # (n_features,) rows in which the feature is missing
    n_rows: int  # in which any feature is missing
    total: int  # rows


class FilledSource(WrappedSource):
    """A source without its missing values: filled in, or their rows left out."""

    def __init__(
        self,
        source: Source,
        fill: FloatArray | None,  # (n_features,), IN; None: rows are left out
    ) -> None:
        super().__init__(source)
        self.dtype, self.fill = arithmetic_dtype(source.dtype), fill
        self.n_left_out = 0  # rows that the last whole pass left out
        if fill is None:
            self.n_points = None

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        n_left_out = 0
        for chunk in self._source.chunks(max(1, most_bytes // 2)):
            points = chunk.points.astype(self.dtype)
            is_missing = np.isnan(points)
            points[is_missing] = 0
            as_read = replace(chunk, parts=(points,), dtype=self.dtype)
            check_chunk(as_read, self.feature_names)  # here, because rows that are left out change the positions
            if self.fill is not None:
                np.copyto(points, self.fill, where=is_missing, casting="same_kind")
                yield as_read
                continue
            kept = ~is_missing.any(axis=1)
            n_left_out += len(kept) - int(kept.sum())
            if kept.any():
                weights = None if chunk.weights is None else chunk.weights[kept]
                yield replace(as_read, parts=(points[kept],), weights=weights)
        self.n_left_out = n_left_out

    def kept(self) -> Iterator[NDArray[np.bool_]]:
        """For each row of the other source, in blocks, whether it is left."""
        for chunk in self._source.chunks(PASS_BYTES):
            is_whole = np.logical_not(np.isnan(chunk.points).any(axis=1))
            yield is_whole if self.fill is None else np.ones_like(is_whole)


def count_missing(source: Source) -> MissingCounts:
    """Read all rows once and count."""
    by_feature, n_rows, total = np.zeros(source.n_features, np.int64), 0, 0
    for chunk in source.chunks(PASS_BYTES):
        is_missing = np.isnan(chunk.points)
        by_feature += is_missing.sum(axis=0)
        n_rows += int(is_missing.any(axis=1).sum())
        total += len(chunk)
    return MissingCounts(by_feature, n_rows, total)


def fill_values(source: Source, how: Missing, rng: np.random.Generator) -> FloatArray:
    """The mean or the median of the values that each feature has, (n_features,), in one pass.

    The median is that of a sample if there are many rows.
    """
    room = int(np.clip(_SAMPLE_BYTES // (8 * source.n_features), _FEWEST_SAMPLED, _MOST_SAMPLED))
    pool = RowSample(
        room, source.n_features, source.dtype, rng, n_points=source.n_points, weighted=source.weighted
    )
    totals, sums = np.zeros(source.n_features), np.zeros(source.n_features)
    for chunk in source.chunks(PASS_BYTES):
        points = chunk.points.astype(np.float64)
        weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
        totals += weights @ ~np.isnan(points)
        sums += weights @ np.nan_to_num(points, copy=False)
        if how is Missing.MEDIAN:
            pool.add(chunk)
    if not totals.all():
        names, place = source.feature_names, int(np.argmin(totals))
        column = place if names is None else names[place]
        raise SourceError(f"column {column} of {source.name} has no values at all; drop it.")
    if how is Missing.MEAN:
        return sums / totals
    medians: FloatArray = np.nanmedian(pool.points.astype(np.float64), axis=0)
    return np.where(np.isnan(medians), sums / totals, medians)  # a rare feature may have no value in the sample
