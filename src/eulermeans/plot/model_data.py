"""The data that a model is plotted or reported on, in blocks of bounded size.

Files, streams and tables are read through the sources that `fit` reads. Arrays, sparse matrices and pandas frames
are sliced where they are; a frame goes through the model's pipeline as a frame, so it may have text columns that
the pipeline encodes. Does not know what is plotted or measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, FloatArray
from ..sources import Chunk, RowSample, Source, SourceError, as_source, check_chunk, is_source, unwrapped
from .fitted_model import FittedModel, Matrix, as_matrix

if TYPE_CHECKING:
    import pandas as pd

BLOCK_VALUES = 1 << 21  # values in a block of rows, before or after the pipeline, whichever are more

RowIds: TypeAlias = Sequence[object] | Array | Iterator[Sequence[object]]


@dataclass(frozen=True)
class Block:
    """Consecutive rows."""

    rows: Matrix  # (n, n_features) in the units of the data; after the pipeline if that encodes text
    points: Matrix  # (n, n_features of the centers) after the pipeline
    weights: FloatArray | None  # (n,)
    missing: NDArray[np.bool_] | None  # (n, n_features) values that the pipeline filled; None if there are none
    first: int  # the number of the first row, from 0


@dataclass(frozen=True)
class ModelData:
    """Rows in the form that a model takes, either a table in memory or a source."""

    model: FittedModel
    table: Matrix | pd.DataFrame | None
    source: Source | None
    name: str  # for messages and the report
    feature_names: list[str]  # of `Block.rows`
    weights: FloatArray | None  # (n_rows,) weights that were given beside the data
    ids: Iterable[Sequence[object] | Array]  # the names of the rows, in blocks
    is_weighted: bool  # by `weights` or by the source
    is_encoded: bool  # the pipeline encodes text, so that rows are numbers only after it

    def blocks(self, pool: RowSample | None = None) -> Iterator[Block]:
        """All rows, in order. A pool, if given, samples the source on the way."""
        first = 0
        for rows, weights in self._pieces(pool):
            points = self._to_points(rows, first)
            weights = weights if self.weights is None else self.weights[first : first + points.shape[0]]
            matrix = points if self.is_encoded else as_matrix(rows)
            missing = _missing_values(matrix) if self.model.scalers else None
            if missing is not None:
                matrix = self.model.fill_missing(matrix)
            yield Block(matrix, points, weights, missing, first)
            first += points.shape[0]
        if first == 0:
            raise ValueError(f"{self.name} has no rows.")

    def new_pool(self, size: int, rng: np.random.Generator) -> RowSample | None:
        """An empty sample for `blocks` to fill; None for a table, whose rows are drawn by number."""
        source = self.source
        if source is None:
            return None
        return RowSample(size, source.n_features, source.dtype, rng, n_points=source.n_points, weighted=False)

    def sample(self, size: int, rng: np.random.Generator) -> Matrix:
        """The points of about `size` rows drawn uniformly, or of all rows if there are fewer."""
        pool = self.new_pool(size, rng)
        if pool is not None and self.source is not None:
            for chunk in self.source.chunks():
                pool.add(chunk)
        return self.sampled_points(pool, size, rng)

    def sampled_points(self, pool: RowSample | None, size: int, rng: np.random.Generator) -> Matrix:
        """The points of the rows in the pool; without a pool, those of `size` rows of the table."""
        if pool is not None:
            return self._to_points(pool.points)
        assert self.table is not None
        n_rows = self.table.shape[0]
        if n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        chosen = np.sort(rng.choice(n_rows, min(size, n_rows), replace=False))
        return self._to_points(_take(self.table, chosen))

    def counts(self) -> FloatArray:
        """The number or total weight of the rows nearest to each center, (n_clusters,)."""
        counts = np.zeros(self.model.n_clusters)
        for block in self.blocks():
            counts += self.model.label(block.points, block.weights).moments.counts
        return counts

    def ids_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """The ids of these rows; `row 5` for rows that have none."""
        wanted, first = sorted(set(numbers)), 0
        found = {number: f"row {number}" for number in wanted}
        for block in self.ids:
            for number in wanted[bisect_left(wanted, first) : bisect_left(wanted, first + len(block))]:
                found[number] = str(block[number - first])
            first += len(block)
        return found

    def _pieces(self, pool: RowSample | None) -> Iterator[tuple[Matrix | pd.DataFrame, FloatArray | None]]:
        step = max(1, BLOCK_VALUES // max(self.model.n_features, self.model.centers.shape[1]))
        if self.table is not None:
            for first in range(0, self.table.shape[0], step):
                yield _take(self.table, slice(first, first + step)), None
        if self.source is not None:
            for chunk in self.source.chunks(step * self.source.n_features * self.source.dtype.itemsize):
                if pool is not None:
                    pool.add(chunk)
                yield chunk.points, chunk.weights

    def _to_points(self, rows: Matrix | pd.DataFrame, first: int = 0) -> Matrix:
        """Rows after the pipeline; raises an error that names the first value that is missing or infinite."""
        points = self.model.transform(rows)
        if isinstance(points, np.ndarray):
            names = None if self.model.scalers else self.feature_names
            check_chunk(Chunk((points,), points.dtype, self.name, first), names)
        elif not np.isfinite(points.data).all():
            raise ValueError(f"{self.name} has missing or infinite values; fill them or leave those rows out.")
        return points


def as_model_data(
    model: FittedModel,
    data: object,  # an array, a sparse matrix, a pandas frame, or anything that `as_source` reads
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    ids: RowIds | None = None,
) -> ModelData:
    """The data in the form that the model takes, checked."""
    names = model.feature_names if feature_names is None else feature_names
    table: Matrix | pd.DataFrame | None = None
    source: Source | None = None
    is_encoded = False
    data = unwrapped(data)
    if is_source(data):
        source = _open(data, model.feature_names)
        n_rows, n_features = source.n_points, source.n_features
        name, names = name or source.name, names if names is not None else source.feature_names
        if source.weighted and sample_weight is not None:
            raise ValueError(f"{name} has weights of its own; do not give sample_weight too.")
    elif _is_frame(data):
        table = frame = _select_columns(data, model.feature_names)
        n_rows, n_features = frame.shape
        is_encoded = bool(model.scalers) and any(dtype.kind not in "fiub" for dtype in frame.dtypes)
        name, names = name or "the data frame", names if names is not None else list(frame.columns)
        ids = ids if ids is not None else _frame_ids(frame)
    else:
        table = matrix = as_matrix(data)
        n_rows, n_features = matrix.shape
        name = name or ("the array" if isinstance(table, np.ndarray) else "the sparse matrix")
    if n_features != model.n_features:
        raise ValueError(f"{name} has {n_features} features, but the model was fitted to {model.n_features}.")
    if is_encoded:
        n_features, names = model.centers.shape[1], _encoded_names(model)
    names = [f"feature {number}" for number in range(n_features)] if names is None else list(map(str, names))
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature_names were given for {n_features} features.")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    given_ids = None if ids is None or isinstance(ids, Iterator) else np.asarray(ids)
    for what, values in (("sample_weight", weights), ("ids", given_ids)):
        if values is not None and n_rows is not None and values.shape != (n_rows,):
            raise ValueError(f"{what} has shape {values.shape}; expected ({n_rows},), one value per row.")
    id_blocks = ids if isinstance(ids, Iterator) else [] if given_ids is None else [given_ids]
    is_weighted = weights is not None or (source is not None and source.weighted)
    return ModelData(model, table, source, name, names, weights, id_blocks, is_weighted, is_encoded)


def _missing_values(rows: Matrix) -> NDArray[np.bool_] | None:
    """Where a dense array has NaN; None if it has none."""
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f":
        return None
    missing: NDArray[np.bool_] = np.isnan(rows)
    return missing if missing.any() else None


def _is_frame(data: object) -> TypeGuard[pd.DataFrame]:
    return hasattr(data, "iloc")


def _take(table: Matrix | pd.DataFrame, rows: slice | NDArray[np.intp]) -> Matrix | pd.DataFrame:
    return table.iloc[rows] if _is_frame(table) else table[rows]


def _open(data: object, names: list[str] | None) -> Source:
    """The source of the data, restricted to the model's columns if its columns have names."""
    try:
        return as_source(data, columns=names)
    except SourceError:
        raise
    except ValueError:  # data without named columns
        return as_source(data)


def _select_columns(frame: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    """The columns that the model was fitted to, in the same order."""
    missing = [name for name in names or [] if name not in frame.columns]
    if missing:
        raise ValueError(f"the data frame has no column {missing[0]!r}, which the model was fitted to.")
    return frame if names is None else frame[names]


def _frame_ids(frame: pd.DataFrame) -> pd.Index | None:
    """The index of the frame; None if it only counts the rows."""
    index = frame.index
    return None if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1 else index


def _encoded_names(model: FittedModel) -> list[str] | None:
    """The names that the pipeline gives to its output features; None if it has none."""
    try:
        return list(model.scalers[-1].get_feature_names_out())
    except (AttributeError, ValueError):
        return None
