"""docs/reliability.md names a test for each promise: they exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reliability.md"


def test_every_promise_names_tests_that_exist():
    defined = {name for path in TESTS.rglob("*.py") for name in re.findall(r"def (test_\w+)", path.read_text())}
    tables = re.findall(r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE)
    promises = [row for table in tables for row in table.splitlines()]
    assert len(promises) > 15
    for promise in promises:
        names = re.findall(r"`((?:fuzz/)?test_\w+)(\.py)?`", promise)
        assert names, promise
        for name, is_file in names:
            assert (TESTS / f"{name}.py").is_file() if is_file else name in defined, name
