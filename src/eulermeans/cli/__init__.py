"""The `eulermeans` command: options, files, progress and results on the terminal. The library does the work."""

from .app import app

__all__ = ["app"]
