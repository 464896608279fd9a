"""The bound and the inertia over time as a small picture in SVG, without Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .certificate_record import Certificate

WIDTH, HEIGHT = 480, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 12, 22, 36
BOUND, INERTIA = "#0072b2", "#d55e00"


def lowest_shown(certificate: Certificate) -> float:
    """Where the axis begins: the first bounds, which are often far below the others, are cut off."""
    known = sorted(step.lower_bound for step in certificate.history if step.lower_bound > 0)
    if not known:
        return 0.0
    middle = known[len(known) // 2]
    return max(known[0], certificate.inertia - 4 * abs(certificate.inertia - middle))


def bound_chart(certificate: Certificate) -> str:
    """Steps of the lower bound, and a line at the inertia above it."""
    steps, inertia = certificate.history, certificate.inertia
    end = max(certificate.seconds, steps[-1].seconds, 1e-3)
    low, high = lowest_shown(certificate), max(inertia, certificate.lower_bound)
    if not low < high:
        low, high = 0.9 * low, 1.1 * high or 1.0

    def x(seconds: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * seconds / end

    def y(value: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (high - max(value, low)) / (high - low)

    path = f"M{x(steps[0].seconds):.1f},{y(steps[0].lower_bound):.1f}"
    path += "".join(f"H{x(step.seconds):.1f}V{y(step.lower_bound):.1f}" for step in steps[1:]) + f"H{x(end):.1f}"
    text = 'font-size="11" fill="currentColor"'
    lines = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-label="The lower bound and the inertia over time" font-family="sans-serif">',
        f'<path d="M{_LEFT},{_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.3"/>',
        f'<path d="M{_LEFT},{y(inertia):.1f}H{WIDTH - _RIGHT}" stroke="{INERTIA}" stroke-width="1.5" '
        'stroke-dasharray="5 3"/>',
        f'<path d="{path}" fill="none" stroke="{BOUND}" stroke-width="2"/>',
        f'<text x="{_LEFT}" y="14" font-size="11" fill="{INERTIA}">inertia of the clustering (dashed)</text>',
        f'<text x="{WIDTH - _RIGHT}" y="14" font-size="11" fill="{BOUND}" text-anchor="end">lower bound</text>',
        f'<text x="{_LEFT}" y="{HEIGHT - 18}" {text}>0</text>',
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 18}" {text} text-anchor="end">{end:.3g}</text>',
        f'<text x="{(_LEFT + WIDTH) / 2}" y="{HEIGHT - 4}" {text} text-anchor="middle">seconds</text>',
    ]
    for value in (low, (low + high) / 2, high):
        lines.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" {text} text-anchor="end">{value:.5g}</text>')
    return "".join([*lines, "</svg>"])
