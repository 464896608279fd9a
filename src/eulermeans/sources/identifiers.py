"""Columns that number or name the rows, such as a customer's number: clusters of them mean nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..optional import optional

if TYPE_CHECKING:
    import pyarrow as pa

_FEWEST_TEXTS = 20  # rows that all must differ in a column of text
_FEWEST_NUMBERED = 100  # rows that must be numbered one after the other
_FEWEST_INTEGERS = 1000  # whole numbers that all must differ: among so many measured values, some are equal
_NAMES = re.compile(
    r"^(id|key|index|uuid|guid|rowid|row|nr|no|unnamed: ?\d*|)$"  # the whole name; pandas writes its index without
    r"|[ _.-](id|key|uuid|guid|nr|no)$|[a-z]I[dD]$|^(id|key)[ _.-]"
)


def looks_like_identifier(name: str, values: pa.Array) -> bool:
    """Whether all of the first values of a column differ, as those of an identifier do.

    Whole numbers that all differ may be measured, too. They are identifiers if the name says so, if they count the
    rows, or if there are so many that measured values would repeat.
    """
    pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
    types = pyarrow.types
    is_text = types.is_string(values.type) or types.is_large_string(values.type)
    if not (is_text or types.is_integer(values.type)) or values.null_count or len(values) < 2:
        return False
    if compute.count_distinct(values).as_py() < len(values):
        return False
    if is_text:
        return len(values) >= _FEWEST_TEXTS
    numbered = len(values) >= _FEWEST_NUMBERED and bool(np.all(np.diff(values.to_numpy()) == 1))
    return numbered or len(values) >= _FEWEST_INTEGERS or _NAMES.search(name.strip()) is not None
