"""The data that a model is shown with, read a block at a time: arrays, frames, sparse matrices and sources.

Knows how data are given and which columns a model wants. Does not know what is drawn or measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import FloatArray
from ..oracles import SourceError, as_source
from .fitted import Fitted, as_matrix
from .reservoir import Reservoir

BLOCK_VALUES = 1 << 21  # of features and of distances to centers, that are worked on together


@dataclass(frozen=True)
class Block:
    """Consecutive rows."""

    rows: Any  # (n, n_features) as they came, an array or CSR
    points: Any  # (n, any) where clusters were made
    weights: FloatArray | None  # (n,)
    first: int  # the number of the first row, from 0


@dataclass(frozen=True)
class Rows:
    """Rows as a model takes them."""

    model: Fitted
    data: Any  # an array, a sparse matrix, a pandas frame or a Source
    name: str
    feature_names: list[str]
    weighted: bool
    weights: FloatArray | None = None  # (n_rows,), of data that do not bring their own
    ids: Any = None  # (n_rows,) what the rows are called; or an iterator of blocks of that
    mixed: bool = False  # whether rows are no numbers before the pipeline makes some of them

    def blocks(self) -> Iterator[Block]:
        """All rows, in order."""
        first = 0
        for rows, weights in self._pieces():
            points = self._entered(rows, first)
            yield Block(points if self.mixed else as_matrix(rows), points, weights, first)
            first += points.shape[0]
        if first == 0:
            raise ValueError(f"{self.name} has no rows.")

    def sample(self, size: int, rng: np.random.Generator) -> Any:
        """The points of at most `size` rows, drawn uniformly; an array or CSR."""
        if _is_source(self.data):
            reservoir = Reservoir(size, rng)
            for block in self.blocks():
                reservoir.add(block.points)
            return reservoir.kept[0]
        n_rows = self.data.shape[0]
        if n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        chosen = np.sort(rng.choice(n_rows, min(size, n_rows), replace=False))
        return self._entered(self.data.iloc[chosen] if hasattr(self.data, "iloc") else self.data[chosen], None)

    def counts(self) -> FloatArray:
        """How many rows, or what weight of them, fall to each center, (n_clusters,)."""
        return sum(
            (self.model.label(block.points, block.weights).moments.counts for block in self.blocks()),
            start=np.zeros(self.model.n_clusters),
        )

    def ids_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """What these rows are called: by the ids given, or by their numbers."""
        if self.ids is None:
            return {number: f"row {number}" for number in numbers}
        if not hasattr(self.ids, "__next__"):
            return {number: str(self.ids[number]) for number in numbers}
        wanted, found, first = sorted(set(numbers)), {}, 0
        for block in self.ids:
            for number in wanted[bisect_left(wanted, first) : bisect_left(wanted, first + len(block))]:
                found[number] = str(block[number - first])
            first += len(block)
        return {number: found.get(number, f"row {number}") for number in wanted}

    def _entered(self, rows: Any, first: int | None) -> Any:
        """Rows as they are compared with centers, which must be numbers."""
        points = self.model.enter(rows)
        values = points.data if issparse(points) else points
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            bad = (
                None
                if first is None or issparse(points)
                else first + int(np.argmin(np.isfinite(points).all(axis=1)))
            )
            where = "" if bad is None else f", the first in row {bad}"
            raise ValueError(
                f"{self.name} has missing or infinite values{where}; leave those rows out or fill them."
            )
        return points

    def _pieces(self) -> Iterator[tuple[Any, FloatArray | None]]:
        n_values = max(len(self.feature_names), self.model.n_clusters)
        if _is_source(self.data):
            for chunk in self.data.chunks():
                points = chunk.points
                for part in _parts(len(points), n_values):
                    yield points[part], None if chunk.weights is None else chunk.weights[part]
            return
        for part in _parts(self.data.shape[0], n_values):
            piece = self.data.iloc[part] if hasattr(self.data, "iloc") else self.data[part]
            yield piece, None if self.weights is None else self.weights[part]


def as_rows(
    model: Fitted,
    data: Any,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    ids: Any = None,
) -> Rows:
    """Data as a model takes them, checked."""
    mixed, given = False, feature_names if feature_names is not None else model.names
    if hasattr(data, "iloc"):
        data = _chosen(data, model.names)
        mixed = bool(model.scalers) and any(kind.kind not in "fiub" for kind in data.dtypes)
        given = given if given is not None else [str(column) for column in data.columns]
        ids = ids if ids is not None else _index(data)
        name = name or "a data frame"
    elif issparse(data):
        data, name = as_matrix(data), name or "a sparse matrix"
    elif isinstance(data, (np.ndarray, list, tuple)):
        data, name = as_matrix(data), name or "an array"
    else:
        source = data if _is_source(data) else _opened(data, model.names)
        data, name = source, name or source.name
        given = given if given is not None else source.feature_names
        if source.weighted and sample_weight is not None:
            raise ValueError(f"{name} has weights of its own; leave sample_weight out.")
    n_features = data.n_features if _is_source(data) else data.shape[1]
    if n_features != model.n_features:
        raise ValueError(f"{name} has {n_features} features, but the model was fitted to {model.n_features}.")
    if mixed:
        n_features, given = model.centers.shape[1], _names_out(model)
    n_rows = data.n_points if _is_source(data) else data.shape[0]
    return Rows(
        model,
        data,
        name,
        _feature_names(given, n_features),
        weighted=sample_weight is not None or bool(getattr(data, "weighted", False)),
        weights=_checked(sample_weight, n_rows, "sample_weight", np.float64),
        ids=ids if hasattr(ids, "__next__") else _checked(ids, n_rows, "ids", None),
        mixed=mixed,
    )


def _is_source(data: Any) -> bool:
    return hasattr(data, "chunks") and hasattr(data, "weighted")


def _parts(n_rows: int, n_values: int) -> Iterator[slice]:
    step = max(1, BLOCK_VALUES // max(1, n_values))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))


def _opened(data: Any, names: list[str] | None) -> Any:
    """The source, of the columns that the model was fitted to where data have columns with names."""
    try:
        return as_source(data, columns=names)
    except SourceError:
        raise
    except ValueError:
        return as_source(data)


def _chosen(frame: Any, names: list[str] | None) -> Any:
    """The columns that the model was fitted to, in its order."""
    if names is None:
        return frame
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"the data frame has no column {missing[0]!r}, which the model was fitted to.")
    return frame[names]


def _index(frame: Any) -> Any:
    """The index of a frame, unless it only counts the rows."""
    counts = getattr(frame.index, "start", None) == 0 and getattr(frame.index, "step", None) == 1
    return None if counts else frame.index


def _names_out(model: Fitted) -> Sequence[str] | None:
    """What the pipeline calls the features that it made, if it does."""
    last = model.scalers[-1]
    try:
        return list(last.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def _feature_names(names: Sequence[Any] | None, n_features: int) -> list[str]:
    if names is None:
        return [f"feature {number}" for number in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature_names were given for {n_features} features.")
    return [str(name) for name in names]


def _checked(values: Any, n_rows: int | None, what: str, dtype: Any) -> Any:
    if values is None:
        return None
    array = np.asarray(values, dtype=dtype)
    if n_rows is not None and array.shape != (n_rows,):
        raise ValueError(f"{what} has shape {array.shape}; expected ({n_rows},), one for each row.")
    return array
