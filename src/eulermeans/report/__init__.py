"""A report on a fitted model: one HTML file with pictures, tables and what is worth knowing.

`write` makes the file, `describe` gives the same numbers as records. Needs `pip install "eulermeans[plot]"`.
"""

from .describe import describe
from .page import render, write
from .records import Cluster, Description, Feature, Finding, NearRow, Trait

__all__ = ["Cluster", "Description", "Feature", "Finding", "NearRow", "Trait", "describe", "render", "write"]
