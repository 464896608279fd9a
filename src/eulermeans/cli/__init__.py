"""The `eulermeans` command. Knows the terminal and the files that people name; leaves all else to the library."""

from .app import app

__all__ = ["app"]
