"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .base import Chunk, Source, SourceError
from .mapped import mapped
from .opening import as_source, is_source

__all__ = ["Chunk", "Source", "SourceError", "as_source", "is_source", "mapped"]
