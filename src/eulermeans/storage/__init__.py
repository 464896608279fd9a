"""Everything eulermeans writes to disk and reads back.

`storage.models` and `storage.scikit_learn` are not imported here: they import scikit-learn, which takes a second.
"""

from .atomic_file import replacing
from .checkpoint import Checkpoint, Snapshot
from .container import write
from .packing import pack

__all__ = ["Checkpoint", "Snapshot", "pack", "replacing", "write"]
