"""Data files with random changes: they are refused with one error, or read as finite numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kinds_of_data import KINDS
from mutation import cases, changed_bytes

from eulermeans.oracles import StreamOracle
from eulermeans.sources import SourceError, as_source

REGRESSIONS = {"parquet": [296], "npy": [14], "npz": [1139]}
FORMATS = [kind for kind in ("csv", "parquet", "npy", "npz", "arrow", "feather") if kind in KINDS]


def read(path) -> None:
    oracle = StreamOracle(as_source(path), memory_limit=1 << 20, rng=np.random.default_rng(0))
    pool = oracle.pool().points.stored
    assert np.isfinite(pool.astype(np.float64)).all()
    moments = oracle.full(np.zeros((2, oracle.n_features)))
    assert np.isfinite(moments.sums).all()
    assert np.isfinite(moments.cost)


@pytest.mark.parametrize("kind", FORMATS)
def test_changed_files_are_refused_or_read(kind, tmp_path):
    path = Path(KINDS[kind](np.random.default_rng(0).standard_normal((200, 4)).astype("f4"), tmp_path))
    content, n_refused = path.read_bytes(), 0
    for case, rng in cases(REGRESSIONS.get(kind, [])):
        path.write_bytes(changed_bytes(content, rng))
        try:
            read(path)
        except (SourceError, ValueError) as error:
            if "\n" in str(error).strip() and kind != "parquet":
                raise AssertionError(f"case {case}") from error
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"case {case}") from error
    assert n_refused


def test_text_of_any_kind_is_refused_or_read(tmp_path):
    """Lines of random fields, quotes and separators."""
    path, n_refused = tmp_path / "a.csv", 0
    fields = ["1", "-2.5", "1e3", "nan", "", "x", '"', '""', '"a,b"', '"1\n2"', "\x00", "ä", "1e999", "0x1", " 7 "]
    for case, rng in cases(REGRESSIONS.get("text", [])):
        lines = [",".join(rng.choice(fields, size=rng.integers(1, 5))) for _ in range(rng.integers(1, 8))]
        path.write_bytes(str(rng.choice(["\n", "\r\n", "\r"])).join(lines).encode(errors="replace"))
        try:
            read(path)
        except (SourceError, ValueError):
            n_refused += 1
        except Exception as error:
            raise AssertionError(f"case {case}: {path.read_bytes()!r}") from error
    assert n_refused
