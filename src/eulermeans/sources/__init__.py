"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .columns import listed
from .dask_source import DaskSource, is_dask, partition_chunk, partition_error
from .lazy_blocks import Blocks
from .reader import SourceReader, parse_bytes
from .registry import as_source, find_files, is_source
from .row_sample import RowSample
from .running_variance import RunningVariance
from .source import CHUNK_BYTES, Chunk, Source, SourceError, WrappedSource, mapped
from .table_files import TableColumn, TableFiles
from .value_checks import SMALLEST, all_too_small, check_chunk, first_bad_value, largest_value

__all__ = [
    "CHUNK_BYTES",
    "SMALLEST",
    "Blocks",
    "Chunk",
    "DaskSource",
    "RowSample",
    "RunningVariance",
    "Source",
    "SourceError",
    "SourceReader",
    "TableColumn",
    "TableFiles",
    "WrappedSource",
    "all_too_small",
    "as_source",
    "check_chunk",
    "find_files",
    "first_bad_value",
    "is_dask",
    "is_source",
    "largest_value",
    "listed",
    "mapped",
    "parse_bytes",
    "partition_chunk",
    "partition_error",
]
