"""Conditions of --where: answered as SQL does, and never executed."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eulermeans.sources import parse_filter

DAY = datetime.date(2024, 3, 1)
ROWS = pa.RecordBatch.from_pydict(
    {
        "age": pa.array([10, 20, None, 40], pa.int64()),
        "x": pa.array([0.5, float("nan"), -1.5, None]),
        "city": pa.array(["Rom", "Paris", "it's", None]),
        "last visit": pa.array([DAY, None, datetime.date(2023, 1, 1), DAY]),
        "member": pa.array([True, False, None, True]),
        "kind": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age > 10", [1, 3]),
        ("age >= 10 and age < 40", [0, 1]),
        ("age = 10 or age == 40", [0, 3]),
        ("age <> 10", [1, 3]),  # a missing value is not unequal
        ("age != 10", [1, 3]),
        ("not age = 10", [1, 3]),
        ("NOT (age = 10 OR city = 'Paris')", []),  # of the others, either age or city is missing
        ("age in (10, 20)", [0, 1]),
        ("age not in (10, 20)", [3]),
        ("age between 15 and 40", [1, 3]),
        ("age not between 15 and 30 and age is not null", [0, 3]),
        ("x is null", [1, 3]),  # NaN is missing, too
        ("x < -1e0", [2]),
        ("city = 'it''s'", [2]),
        ("city like '%a%'", [1]),
        ("city IS NOT NULL", [0, 1, 2]),
        ("\"last visit\" >= '2024-01-01'", [0, 3]),
        ("`last visit` = '2023-01-01'", [2]),
        ("member = true", [0, 3]),
        ("kind in ('a')", [0, 2]),
        ("((age > 0))", [0, 1, 3]),
    ],
)
def test_conditions(text, expected):
    mask = parse_filter(text).mask(ROWS).to_pylist()
    assert [place for place, chosen in enumerate(mask) if chosen] == expected


def test_the_columns_that_a_condition_asks_for():
    assert parse_filter('age > 1 and ("last visit" is null or age < 9)').columns == ["age", "last visit"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the name of a column"),
        ("age", "expected a comparison such as `=`"),
        ("age >", "expected a number or a text in 'single quotes'"),
        ("age > x", "expected a number or a text"),
        ("age > 1 age < 2", "expected the end, `and` or `or`.*found `age`"),
        ("(age > 1", "expected `\\)`"),
        ("age in 1", "expected `\\(`"),
        ("age > 1; drop table", "from '; drop table' on"),
        ("__import__('os').system('true')", "from \".system\\('true'\\)\" on"),
        ("age > 'x", 'from "\'x" on'),
        ("and", "expected the name of a column"),
        ("(" * 200 + "age > 1" + ")" * 200, "nested too deeply"),
    ],
)
def test_conditions_that_can_not_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        parse_filter(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age = 'x'", "column age has type double, but the condition compares it with a text"),
        ("city = 1", "compares it with a number; write the value in 'single quotes'"),
        ("\"last visit\" = 'soon'", "'soon' is not a date"),
        ("age like '1%'", "`like` compares text"),
        ("member = 'yes'", "column member has type bool"),
    ],
)
def test_conditions_of_another_type(text, message):
    with pytest.raises(ValueError, match=message):
        parse_filter(text).mask(ROWS)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_an_error(text):
    try:
        found = parse_filter(text)
    except ValueError:
        return
    assert found.columns


names = st.sampled_from(["age", "x"])
numbers = st.integers(-5, 45)
comparisons = st.tuples(names, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), numbers)


@given(st.lists(comparisons, min_size=1, max_size=4), st.sampled_from(["and", "or"]))
def test_combinations_are_those_of_python(parts, word):
    text = f" {word} ".join(f"({name} {sign} {number})" for name, sign, number in parts)
    rows = [{"age": age, "x": x} for age in (-5, 0, 45) for x in (0.0, 20.0)]
    batch = pa.RecordBatch.from_pylist(rows)
    python = {"=": "==", "<>": "!="}

    def holds(row):
        found = [eval(f"{row[name]} {python.get(sign, sign)} {number}") for name, sign, number in parts]
        return all(found) if word == "and" else any(found)

    assert parse_filter(text).mask(batch).to_pylist() == [holds(row) for row in rows]
