"""How much memory may be used: numbers of bytes, and strings such as "512MB" or "1GiB"."""

from __future__ import annotations

import re
from numbers import Integral

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def parse_bytes(size: int | str) -> int:
    """The number of bytes that is meant."""
    if isinstance(size, Integral) and not isinstance(size, bool):
        n_bytes = int(size)
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", size.lower()) if isinstance(size, str) else None
        if found is None or found[2] not in UNITS:
            raise ValueError(
                f'{size!r} is no amount of memory; give a number of bytes or a string such as "512MB".'
            )
        n_bytes = int(float(found[1]) * UNITS[found[2]])
    if n_bytes <= 0:
        raise ValueError(f"{size!r} is no amount of memory: it must be positive.")
    return n_bytes
