"""How a fit proceeds: its phases, and the beginning of a stream. Does not know scikit-learn."""

from .phases import SEARCH_POINTS, Attempt, Init, Phases
from .streaming import POINTS_PER_CLUSTER, Buffer

__all__ = ["POINTS_PER_CLUSTER", "SEARCH_POINTS", "Attempt", "Buffer", "Init", "Phases"]
