"""Everything eulermeans writes to disk and reads back.

`storage.models` and `storage.checkpoint` are not imported here: they import scikit-learn and SciPy, which take a
second.
"""

from .atomic_file import replacing
from .bounds_cost import BoundsCost, cost_of_bounds
from .container import write
from .packing import pack

__all__ = ["BoundsCost", "cost_of_bounds", "pack", "replacing", "write"]
