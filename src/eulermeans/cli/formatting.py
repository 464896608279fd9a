"""Numbers, durations and text formatted for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def short(number: float) -> str:
    """Three digits and a suffix: 1.23M."""
    for suffix in ("", "k", "M", "G"):
        if abs(number) < 999.5:
            return f"{number:.3g}{suffix}"
        number /= 1000
    return f"{number:.3g}T"


def duration(seconds: float) -> str:
    """0.8 s, 42 s, 3:07, 1:02:09."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as bars, at most `width` of them; the smallest value is the lowest bar."""
    if len(values) < 2:
        return ""
    step = max(1.0, len(values) / width)
    shown = [values[min(len(values) - 1, int((i + 1) * step) - 1)] for i in range(min(width, len(values)))]
    low, high = min(shown), max(shown)
    if not high > low:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(len(_BARS) - 1, int((value - low) / (high - low) * len(_BARS)))] for value in shown)


def one_line(text: str) -> str:
    """The text without line breaks and control characters, which names in data files may contain."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
