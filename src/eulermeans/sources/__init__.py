"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .block_cursor import BlockCursor
from .columns import listed
from .csv_dialect import CsvOptions
from .dask_source import DaskSource, is_dask, partition_chunk, partition_error
from .filter_parser import parse_filter
from .identifiers import numbers_identify
from .lazy_blocks import Blocks
from .missing_values import FilledSource, MissingCounts, count_missing, fill_values
from .preparation import as_texts, find_date_format, may_be_day_first
from .reader import SourceReader
from .registry import as_source, find_files, has_columns, is_source, with_columns
from .row_filter import RowFilter
from .row_sample import RowSample
from .running_variance import RunningVariance
from .source import CHUNK_BYTES, Chunk, MissingValueError, Source, SourceError, WrappedSource, mapped
from .table_files import TableColumn, TableFiles
from .table_rows import FirstRows, PreparedTable, TableRows, number_column
from .value_checks import SMALLEST, all_too_small, check_chunk, first_bad_value, largest_value
from .wrapped_arrays import unwrapped

__all__ = [
    "CHUNK_BYTES",
    "SMALLEST",
    "BlockCursor",
    "Blocks",
    "Chunk",
    "CsvOptions",
    "DaskSource",
    "FilledSource",
    "FirstRows",
    "MissingCounts",
    "MissingValueError",
    "PreparedTable",
    "RowFilter",
    "RowSample",
    "RunningVariance",
    "Source",
    "SourceError",
    "SourceReader",
    "TableColumn",
    "TableFiles",
    "TableRows",
    "WrappedSource",
    "all_too_small",
    "as_source",
    "as_texts",
    "check_chunk",
    "count_missing",
    "fill_values",
    "find_date_format",
    "find_files",
    "first_bad_value",
    "has_columns",
    "is_dask",
    "is_source",
    "largest_value",
    "listed",
    "mapped",
    "may_be_day_first",
    "number_column",
    "numbers_identify",
    "parse_filter",
    "partition_chunk",
    "partition_error",
    "unwrapped",
    "with_columns",
]
