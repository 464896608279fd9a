"""Conditions on rows, and which rows of a table they are true for, as in the WHERE of SQL.

A condition is a tree of small records that pyarrow's functions answer. `filter_parser` reads them from text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..optional import optional

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = float | str | bool


@dataclass(frozen=True)
class Comparison:
    """A column compared with values: `equal`, ..., `is_null`, `is_in`, or `like`."""

    column: str
    operation: str
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Combination:
    """Conditions combined by `and`, `or`, or one negated by `not`."""

    operation: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | Combination


@dataclass(frozen=True)
class RowFilter:
    """Which rows of a table to use."""

    text: str
    condition: Condition

    @property
    def columns(self) -> list[str]:
        """The names of the columns that it asks for, each once."""
        return list(dict.fromkeys(_columns(self.condition)))

    def mask(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """For each row whether the condition is true. A comparison with a missing value is not."""
        found = _answer(self.condition, rows)
        return optional("pyarrow.compute", "io").fill_null(found, False)


def _columns(condition: Condition) -> Iterator[str]:
    if isinstance(condition, Comparison):
        yield condition.column
    else:
        for part in condition.parts:
            yield from _columns(part)


def _answer(condition: Condition, rows: pa.RecordBatch) -> pa.BooleanArray:
    """True, false or missing for each row, as in SQL."""
    compute = optional("pyarrow.compute", "io")
    if isinstance(condition, Comparison):
        return _compare(condition, rows.column(condition.column))
    answers = [_answer(part, rows) for part in condition.parts]
    if condition.operation == "not":
        return compute.invert(answers[0])
    combine = compute.and_kleene if condition.operation == "and" else compute.or_kleene
    found = answers[0]
    for other in answers[1:]:
        found = combine(found, other)
    return found


def _compare(comparison: Comparison, values: pa.Array) -> pa.BooleanArray:
    pyarrow, compute = optional("pyarrow", "io"), optional("pyarrow.compute", "io")
    if pyarrow.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if comparison.operation == "is_null":
        return compute.is_null(values, nan_is_null=pyarrow.types.is_floating(values.type))
    if pyarrow.types.is_decimal(values.type) or pyarrow.types.is_integer(values.type):
        values = values.cast(pyarrow.float64())  # as the values in the condition
    if comparison.operation == "like":
        if not isinstance(comparison.values[0], str) or not pyarrow.types.is_string(values.type):
            raise ValueError(f"`like` compares text, but the column {comparison.column} has type {values.type}.")
        return compute.match_like(values, comparison.values[0])
    wanted = [_literal(value, comparison.column, values.type) for value in comparison.values]
    if comparison.operation == "is_in":
        found = compute.is_in(values, value_set=pyarrow.array(wanted, values.type))
        return compute.if_else(compute.is_null(values), pyarrow.scalar(None, pyarrow.bool_()), found)
    return compute.call_function(comparison.operation, [values, pyarrow.scalar(wanted[0], values.type)])


def _literal(value: Value, column: str, kind: pa.DataType) -> object:
    """A value of the condition as one of the column's type."""
    pyarrow = optional("pyarrow", "io")
    types = pyarrow.types
    if isinstance(value, bool) and types.is_boolean(kind):
        return value
    if isinstance(value, float) and (types.is_floating(kind)):
        return value
    if isinstance(value, str):
        if types.is_string(kind) or types.is_large_string(kind):
            return value
        if types.is_date(kind) or types.is_timestamp(kind):
            try:
                return pyarrow.scalar(value).cast(kind).as_py()
            except ValueError:
                raise ValueError(
                    f"{value!r} is not a date such as '2024-12-31'; column {column} has dates."
                ) from None
    given = {bool: "true or false", float: "a number", str: "a text"}[type(value)]
    hint = "; write the value in 'single quotes'" if types.is_string(kind) else ""
    raise ValueError(f"the column {column} has type {kind}, but the condition compares it with {given}{hint}.")
