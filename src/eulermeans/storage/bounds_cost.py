"""What bounds on the sizes of clusters cost, as a model file tells it: without scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import FloatArray


@dataclass(frozen=True)
class BoundsCost:
    """The bounds on the sizes of a fitted model's clusters, and what they cost."""

    lowest: float
    highest: float
    above: float  # the objective relative to the one without bounds, minus 1

    @property
    def sizes(self) -> str:
        """The bounds in words."""
        return f"sizes from {self.lowest:,.10g} to {self.highest:,.10g}"

    @property
    def percent(self) -> str:
        """What they cost."""
        return f"{100 * self.above:.1f} %"

    def __str__(self) -> str:
        return f"{self.sizes}: {self.percent} above unbounded"


def cost_of_bounds(
    bounds: FloatArray | None,  # (2,) the lowest and the highest size, IN
    unbounded: float | None,  # the objective without bounds
    objective: float | None,
) -> BoundsCost | None:
    """What bounds cost; None for a model without any."""
    if bounds is None or unbounded is None:
        return None
    above = objective / unbounded - 1 if objective is not None and unbounded > 0 else 0.0
    return BoundsCost(float(bounds[0]), float(bounds[1]), above)
