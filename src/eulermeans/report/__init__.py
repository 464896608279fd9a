"""A report on a fitted model: one HTML file with plots, tables and warnings.

`write` makes the file; `describe` returns the same numbers as records. Needs `pip install "eulermeans[plot]"`.
"""

from .describe import describe
from .report_page import render, write
from .report_records import Cluster, Description, Feature, Finding, NearRow, Trait

__all__ = ["Cluster", "Description", "Feature", "Finding", "NearRow", "Trait", "describe", "render", "write"]
