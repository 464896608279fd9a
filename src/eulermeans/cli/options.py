"""Options that several commands share, each described once."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = "CSV, TSV, Parquet, Arrow, NPY, NPZ or Zarr: a file, a quoted pattern as 'part-*.csv', or - for stdin."


def reading(data: str) -> str:
    """What a command on data does first."""
    return f"reading {'stdin' if data == '-' else data}"


class Scale(str, Enum):
    """How features are scaled before they are clustered."""

    none = "none"
    standard = "standard"
    minmax = "minmax"


class Metric(str, Enum):
    """What is near."""

    euclidean = "euclidean"
    cosine = "cosine"


Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `eulermeans fit` writes it.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", "-c", metavar="A,B,...", help="Cluster these columns only. May be given several times."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="A,B,...", help="Cluster all columns but these. May be given several times."),
]
Weights = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column that says how much each row counts.")
]
Id = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="A column to be written beside the labels, such as a key."),
]
Labels = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the cluster of each row: .csv, .tsv, .parquet, .arrow or .npy."),
]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report to look at: one .html file.")]
Scaling = Annotated[
    Scale, typer.Option("--scale", help="Scale features first, to unit variance or to 0..1; the model keeps it.")
]
Measure = Annotated[Metric, typer.Option("--metric", help="cosine: only the directions of rows count.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the kernels; all cores if not given.")]
Memory = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="Data that take more than half of this are read in pieces.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same clusters.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of a table.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
