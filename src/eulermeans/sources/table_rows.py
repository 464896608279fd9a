"""The rows of a table that a person has chosen, and their features as a `Preparation` makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..features import ColumnKind, PreparedColumn
from ..optional import optional
from .block_cursor import BlockCursor
from .columns import list_width
from .preparation import encoded
from .row_filter import RowFilter
from .source import CHUNK_BYTES, PASS_BYTES, Chunk, Source, SourceError, WrappedSource
from .table_files import TableBatch, TableFiles

if TYPE_CHECKING:
    import pyarrow as pa

    from .table_files import Types


@dataclass(frozen=True)
class TableRows:
    """The rows of some files that a filter and a limit leave."""

    files: TableFiles
    where: RowFilter | None = None
    limit: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all rows are left."""
        return self.where is None and self.limit is None

    def batches(
        self, types: Types, *, most_bytes: int = PASS_BYTES, nulls_in_text: bool = False
    ) -> Iterator[TableBatch]:
        """Columns of the rows; see `TableFiles.batches`. Positions count the rows that the filter leaves."""
        left, passed = self.limit, Counter[str]()
        for batch in self._filtered(types, most_bytes, nulls_in_text):
            rows = batch.rows if left is None else batch.rows.slice(0, left)
            if self.where is not None:
                name = f"{batch.where} where {self.where.text}"
                batch = replace(batch, where=name, first=passed[name])
                passed[name] += rows.num_rows
            if rows.num_rows:
                yield replace(batch, rows=rows)
            if left is not None and (left := left - rows.num_rows) == 0:
                return

    def columns(self, names: Sequence[str], *, as_text: bool) -> Iterator[pa.RecordBatch]:
        """Columns to pass on; `as_text`: those of text files as they are written there."""
        string = optional("pyarrow", "io").string() if as_text else None
        return (batch.rows for batch in self.batches(dict.fromkeys(names, string), nulls_in_text=not as_text))

    def _filtered(self, types: Types, most_bytes: int, nulls_in_text: bool) -> Iterator[TableBatch]:
        where = self.where
        if where is None:
            yield from self.files.batches(types, most_bytes=most_bytes, nulls_in_text=nulls_in_text)
            return
        # The filter needs the types of the schema. Columns that are asked for in other types are read twice.
        own: Types = dict.fromkeys(where.columns)
        masks = None
        if any(types.get(name) is not None for name in own) or not nulls_in_text:
            again = self.files.batches(own, most_bytes=most_bytes, nulls_in_text=True)
            masks = BlockCursor(where.mask(batch.rows).to_numpy(zero_copy_only=False) for batch in again)
            own = {}
        for batch in self.files.batches({**own, **types}, most_bytes=most_bytes, nulls_in_text=nulls_in_text):
            mask = where.mask(batch.rows) if masks is None else masks.take(batch.rows.num_rows)
            yield replace(batch, rows=batch.rows.select(list(types)).filter(optional("pyarrow", "io").array(mask)))


class PreparedTable(Source):
    """The features of the rows. A missing value is NaN."""

    dtype = np.dtype(np.float64)

    def __init__(self, rows: TableRows, columns: Sequence[PreparedColumn], weights: str | None = None) -> None:
        self._rows, self._columns, self._weights = rows, columns, weights
        self.name, self.files, self.weighted = rows.files.path, rows.files.files, weights is not None
        self.feature_names = [feature for column in columns for feature in column.features]
        self.columns_of_features = [column.name for column in columns for _ in column.features]
        self.n_features = len(self.feature_names)
        if not self.n_features:
            raise SourceError(f"no columns of {self.name} are left to cluster.")

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        string = optional("pyarrow", "io").string()
        as_text = {c.name for c in self._columns if c.kind is ColumnKind.CATEGORY or c.date_format}
        types = {c.name: string if c.name in as_text else None for c in self._columns}
        if self._weights is not None:
            types[self._weights] = None
        step = self.rows_per_chunk(most_bytes)
        for batch in self._rows.batches(types, most_bytes=most_bytes, nulls_in_text=True):
            for begin in range(0, batch.rows.num_rows, step):
                rows, first = batch.rows.slice(begin, step), batch.first + begin
                parts = [encoded(c, rows.column(c.name), batch.where, first) for c in self._columns]
                weights = None
                if self._weights is not None:
                    weights = encoded(
                        PreparedColumn(self._weights), rows.column(self._weights), batch.where, first
                    )
                yield Chunk(parts, self.dtype, batch.where, first, weights)

    def reader_bytes(self, most_bytes: int) -> int:
        """Estimate of the memory besides the chunks: the columns as they are read."""
        return 2 * most_bytes


def number_column(files: TableFiles, name: str) -> PreparedColumn:
    """A column of numbers, or of lists of numbers."""
    types, kind = optional("pyarrow", "io").types, files.type_of(name)
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return PreparedColumn(name)
    return PreparedColumn(
        name, width=list_width(kind, lambda column: next(files.column(column)), name, files.path)
    )


class FirstRows(WrappedSource):
    """The first rows of another source."""

    def __init__(self, source: Source, limit: int) -> None:
        super().__init__(source)
        self._limit = limit
        self.n_points = None if source.n_points is None else min(limit, source.n_points)

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        left = self._limit
        for chunk in self._source.chunks(most_bytes):
            if len(chunk) > left:
                weights = None if chunk.weights is None else chunk.weights[:left]
                chunk = replace(chunk, parts=[part[:left] for part in chunk.parts], weights=weights)
            left -= len(chunk)
            yield chunk
            if left == 0:
                return
