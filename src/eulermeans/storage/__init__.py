"""Everything eulermeans writes to disk and reads back.

`storage.models` is not imported here: it imports scikit-learn, which takes a second.
"""

from .atomic_file import replacing
from .checkpoint import Checkpoint
from .container import write
from .packing import pack
from .snapshots import Snapshot

__all__ = ["Checkpoint", "Snapshot", "pack", "replacing", "write"]
