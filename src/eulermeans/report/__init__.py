"""A report on a fitted model: one HTML file with plots, tables and warnings.

`report` makes the file; `describe` returns the same numbers as records. Needs the extra `plot`.
`eulermeans.report` is the function; it has the other names as attributes, such as `eulermeans.report.describe`.
"""

from .describe import describe
from .report_page import render, write
from .report_records import Cluster, Description, Feature, Finding, NearRow, Trait

report = write

__all__ = [
    "Cluster",
    "Description",
    "Feature",
    "Finding",
    "NearRow",
    "Trait",
    "describe",
    "render",
    "report",
    "write",
]

for name in __all__:
    setattr(report, name, globals()[name])
