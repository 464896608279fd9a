"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer


class Scale(str, Enum):
    """How features are scaled before clustering."""

    none = "none"
    standard = "standard"
    minmax = "minmax"


class Metric(str, Enum):
    """How distances are measured."""

    euclidean = "euclidean"
    cosine = "cosine"


class MissingRule(str, Enum):
    """What is done about missing values; see `features.Missing`."""

    drop = "drop"
    mean = "mean"
    median = "median"


_DATA_HELP = (
    "CSV, TSV (also .gz, .bz2, .xz, .zst), Excel, Parquet, Arrow, NPY, NPZ or Zarr: a file, a quoted glob "
    "('part-*.csv'), or - for stdin."
)
_SCALE_HELP = "Scale features to unit variance (standard) or to 0..1 (minmax). The model keeps the scaling."
_LABELS_HELP = "Write the cluster of each row to this file: .csv, .tsv, .parquet, .arrow or .npy."
_MEMORY_HELP = "Memory limit. Data larger than half of it is read from disk on each pass."
_CERTIFY_HELP = "Spend up to this time on a proof of how far from the optimum the clusters can be at most."
_SIZE_MIN_HELP = "Fewest rows of a cluster: a number, or a part of all rows (0.05 or 5%)."
_SIZE_MAX_HELP = "Most rows of a cluster, in the same form."
_SEED_HELP = "Random seed. The same seed gives the same clusters."
_WHERE_HELP = "Use only rows for which this is true, such as \"age >= 18 and country in ('DE', 'FR')\"."
_MISSING_HELP = "Leave out rows with missing values, or fill in the mean or median. The model keeps the rule."
_ONE_HOT_HELP = "Make one feature of each category in these columns: 1 if a row has it, else 0."
_DATES_HELP = "Use these columns of dates, as days since 1970."
_SHAPE_HELP = "Rows are images of this shape, such as 28x28 or 32x32x3; the report shows centers as images."

_text_file = partial(typer.Option, rich_help_panel="Text files")
_columns = partial(typer.Option, rich_help_panel="Rows and columns")

Data = Annotated[str, typer.Argument(metavar="DATA", help=_DATA_HELP)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `eulermeans fit`.")]
Columns = Annotated[
    list[str] | None,
    _columns("--columns", "-c", metavar="A,B,...", help="Use only these columns. Can be repeated."),
]
Drop = Annotated[list[str] | None, _columns(metavar="A,B,...", help="Ignore these columns. Can be repeated.")]
Where = Annotated[str | None, _columns(metavar="CONDITION", help=_WHERE_HELP)]
Limit = Annotated[int | None, _columns(min=1, metavar="N", help="Use only the first N rows (that match --where).")]
Missing = Annotated[MissingRule | None, _columns("--missing", help=_MISSING_HELP)]
OneHot = Annotated[list[str] | None, _columns("--one-hot", metavar="A,B,...", help=_ONE_HOT_HELP)]
Dates = Annotated[list[str] | None, _columns("--dates", metavar="A,B,...", help=_DATES_HELP)]
Weights = Annotated[str | None, _columns(metavar="COLUMN", help="Column with the weight of each row.")]
id_column = partial(_columns, "--id", metavar="COLUMN")  # each command has a help text of its own
Delimiter = Annotated[str | None, _text_file(metavar="SIGN", help="What separates fields. Default: recognised.")]
Decimal = Annotated[str | None, _text_file(metavar="SIGN", help="Decimal sign: . or , Default: recognised.")]
Encoding = Annotated[str | None, _text_file(metavar="NAME", help="Such as utf-8 or cp1252. Default: recognised.")]
SkipRows = Annotated[
    int, _text_file("--skip-rows", min=0, metavar="N", help="Lines before the header to leave out.")
]
SizeMin = Annotated[str | None, typer.Option("--size-min", metavar="N", help=_SIZE_MIN_HELP)]
SizeMax = Annotated[str | None, typer.Option("--size-max", metavar="N", help=_SIZE_MAX_HELP)]
Labels = Annotated[Path | None, typer.Option(metavar="FILE", help=_LABELS_HELP)]
append = partial(typer.Option, "--append", metavar="")
output = partial(typer.Option, "--output", "-o", metavar="FILE")
report = partial(typer.Option, "--report", metavar="FILE")
ImageShape = Annotated[str | None, typer.Option("--image-shape", metavar="HxW", help=_SHAPE_HELP)]
Scaling = Annotated[Scale, _columns("--scale", help=_SCALE_HELP)]
Distance = Annotated[Metric, typer.Option("--metric", help="Distance; cosine ignores the length of the rows.")]
Certify = Annotated[float | None, typer.Option("--certify", min=0.001, metavar="SECONDS", help=_CERTIFY_HELP)]
Threads = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of threads. Default: all cores.")]
Memory = Annotated[str, typer.Option(metavar="SIZE", help=_MEMORY_HELP)]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help=_SEED_HELP)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Do not show progress.")]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object to stdout instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback if the command fails.")]


def size(option: str, text: str | None) -> int | float | None:
    """The number of rows, or the fraction of all rows, that a text stands for."""
    if text is None:
        return None
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        if text.isdecimal():
            return int(text)
        if 0 <= number <= 1:
            return number
    except ValueError:
        pass
    raise ValueError(f"{option} {text} is not a size; give a whole number of rows, or a part of all: 0.05 or 5%")


def reading(data: str) -> str:
    """The first activity of every command that reads data."""
    return f"reading {'stdin' if data == '-' else data}"


def parse_image_shape(text: str | None) -> tuple[int, ...] | None:
    """28x28 as (28, 28); raises a ValueError for anything else than two or three positive numbers."""
    if text is None:
        return None
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"--image-shape {text} is not a shape; give height and width, such as 28x28 or 32x32x3")
    return tuple(map(int, parts))
