"""Memory sizes as people write them. Knows no k-means, so any module may import it."""

from __future__ import annotations

import re
from numbers import Integral

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def parse_bytes(size: int | str) -> int:
    """A memory size as a number of bytes; strings have units, such as "512MB" or "1GiB"."""
    if isinstance(size, Integral) and not isinstance(size, bool):
        n_bytes = int(size)
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", size.lower()) if isinstance(size, str) else None
        if found is None or found[2] not in _UNITS:
            raise ValueError(f'{size!r} is not a memory size; give a number of bytes or a string such as "512MB".')
        n_bytes = int(float(found[1]) * _UNITS[found[2]])
    if n_bytes <= 0:
        raise ValueError(f"{size!r} is not a memory size: it must be positive.")
    return n_bytes
