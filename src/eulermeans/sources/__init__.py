"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .arrow_columns import listed, numeric_type
from .csv_file import CsvSource, CsvTable
from .dask_source import DaskSource, is_dask, partition_chunk, partition_error
from .lazy_blocks import Blocks
from .mapped import mapped
from .numpy_files import wrap_errors
from .prefetch import prefetch
from .reader import SourceReader, parse_bytes
from .registry import as_source, find_files, is_source, suffix_of
from .row_sample import RowSample
from .running_variance import RunningVariance
from .source import CHUNK_BYTES, Chunk, Source, SourceError, reader_bytes
from .value_checks import check_chunk

__all__ = [
    "CHUNK_BYTES",
    "Blocks",
    "Chunk",
    "CsvSource",
    "CsvTable",
    "DaskSource",
    "RowSample",
    "RunningVariance",
    "Source",
    "SourceError",
    "SourceReader",
    "as_source",
    "check_chunk",
    "find_files",
    "is_dask",
    "is_source",
    "listed",
    "mapped",
    "numeric_type",
    "parse_bytes",
    "partition_chunk",
    "partition_error",
    "prefetch",
    "reader_bytes",
    "suffix_of",
    "wrap_errors",
]
