"""What a person says about the data of a command. Knows no file, so that it is quick to import."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .options import MissingRule

_COMPRESSED = (".gz", ".bz2", ".zst", ".xz")


@dataclass(frozen=True)
class Selection:
    """Which data to read, which rows and columns of it, and what to make of them."""

    data: str  # a path, a glob, or - for stdin
    columns: Sequence[str] | None = None  # names, or several names separated by commas; None: all but those below
    drop: Sequence[str] | None = None
    weights: str | None = None
    id: str | None = None
    where: str | None = None
    limit: int | None = None
    missing: MissingRule | None = None
    one_hot: Sequence[str] | None = None
    dates: Sequence[str] | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_rows: int = 0  # lines of a text file before its header

    @property
    def title(self) -> str:
        """The name of the data for people."""
        return "stdin" if self.data == "-" else self.data

    @property
    def stem(self) -> str:
        """The start of the name of the model file."""
        path = Path(self.title)
        path = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
        plain = re.sub(r"[*?\[\]]", "", path.name.removesuffix(path.suffix)).strip("-_. ")
        return plain or path.parent.name or "model"

    @property
    def chooses_columns(self) -> bool:
        """Whether any option names columns."""
        return bool(self.columns or self.drop or self.id or self.one_hot or self.dates or self.where)

    def check_exists(self, model: Path | None = None) -> None:
        """Raise an error if the model or the data do not exist, before anything that takes long to import."""
        if model is not None:
            os.stat(model)
        is_plain = self.data != "-" and "://" not in self.data and not glob.has_magic(self.data)
        if is_plain and not os.path.exists(self.data):
            raise FileNotFoundError(f"no such file: {self.data}")
