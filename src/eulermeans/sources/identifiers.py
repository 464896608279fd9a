"""Columns that number or name the rows, such as a customer's number: clusters of them mean nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..optional import optional

if TYPE_CHECKING:
    import pyarrow as pa

_FEWEST_TEXTS = 20  # rows that all must differ in a column of text
_FEWEST_NUMBERED = 100  # rows that must be numbered, in any order
_CLOSE_NUMBERS = 1.2  # times the number of rows: the range of numbers that were counted up
_FEWEST_INTEGERS = 1000  # whole numbers that all must differ: among so many measured values, some are equal
_NAMES = re.compile(
    r"^(id|key|index|idx|pk|uuid|guid|rowid|row|nr|no|unnamed: ?\d*|)$"  # pandas writes its index without a name
    r"|[ _.-](id|ids|idx|pk|key|uuid|guid|nr|no)$|[a-z](I[dD]|Key|Nr)$|^(id|key)[ _.-]"
)


def looks_like_identifier(name: str, values: pa.Array) -> bool:
    """Whether the first values of a column, text or whole numbers, all differ as those of an identifier do."""
    pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
    types = pyarrow.types
    is_text = types.is_string(values.type) or types.is_large_string(values.type)
    if not (is_text or types.is_integer(values.type)) or values.null_count or len(values) < 2:
        return False
    if not is_text:
        return numbers_identify(name, values.to_numpy())
    return len(values) >= _FEWEST_TEXTS and compute.count_distinct(values).as_py() == len(values)


def numbers_identify(name: str, values: Array) -> bool:
    """Whether these whole numbers, of some rows, look like an identifier: they all differ.

    Measured numbers may differ, too. They identify the rows if the name says so, if they count the rows, or if
    there are so many that measured values would repeat.
    """
    if len(values) < 2 or len(np.unique(values)) < len(values):
        return False
    counted = len(values) >= _FEWEST_NUMBERED and float(np.ptp(values)) < _CLOSE_NUMBERS * len(values)
    return counted or len(values) >= _FEWEST_INTEGERS or _NAMES.search(name.strip()) is not None
