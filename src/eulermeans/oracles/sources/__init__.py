"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .base import Chunk, Source, SourceError
from .dask import DaskSource, is_dask
from .mapped import mapped
from .opening import as_source, is_source

__all__ = ["Chunk", "DaskSource", "Source", "SourceError", "as_source", "is_dask", "is_source", "mapped"]
