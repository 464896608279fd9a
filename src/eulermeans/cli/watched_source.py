"""A source that shows how far a pass over it is, and stops on Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator

from ..sources import CHUNK_BYTES, Chunk, Source, WrappedSource
from .errors import Interrupt
from .progress import Progress


class WatchedSource(WrappedSource):
    """Reports rows to the progress as they are read, and raises Interrupted after Ctrl-C."""

    def __init__(self, source: Source, progress: Progress, interrupt: Interrupt) -> None:
        super().__init__(source)
        self.progress, self.interrupt = progress, interrupt

    def chunks(self, most_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """All rows, in order."""
        self.progress.begin_pass(self.known_rows())
        self.interrupt.check()
        for chunk in self._source.chunks(most_bytes):
            self.progress.add_rows(len(chunk))
            yield chunk
            self.interrupt.check()
        self.progress.end_pass()

    def known_rows(self) -> int | None:
        """The number of rows of a pass, known or estimated; None if it is neither."""
        return self.n_points
