"""Where the data lies: one oracle for each kind of source."""

from .array import ArrayOracle, draw
from .base import InMemory, Labeling, Oracle, Outliers

__all__ = ["ArrayOracle", "InMemory", "Labeling", "Oracle", "Outliers", "draw"]
