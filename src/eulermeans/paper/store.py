"""Records of finished runs in a file, one a line, so that work that was stopped goes on where it was.

Knows lines of JSON. Does not know what was run.
"""

from __future__ import annotations

import json
from pathlib import Path

from .running import RunRecord


class Store:
    """The finished runs of one experiment."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        self._path = path
        self._records = {(record.key, record.run): record for record in _read(path)}

    def __contains__(self, key_and_run: tuple[str, int]) -> bool:
        return key_and_run in self._records

    def add(self, record: RunRecord) -> None:
        """Keep it: it is on the disk when this returns."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record.as_json()) + "\n")
        self._records[record.key, record.run] = record

    def runs_of(self, key: str, n_runs: int) -> list[RunRecord]:
        """The first `n_runs` runs with this key, in order; those that are missing are left out."""
        return [self._records[key, run] for run in range(n_runs) if (key, run) in self._records]


def _read(path: Path) -> list[RunRecord]:
    """The records in the file. Cuts off a last line that was not written to its end."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    return [RunRecord.from_json(json.loads(line)) for line in whole.splitlines()]
