"""Data that are read a chunk at a time: files, frames, tables and streams, each as a `Source`."""

from .base import Chunk, Source, SourceError

__all__ = ["Chunk", "Source", "SourceError"]
