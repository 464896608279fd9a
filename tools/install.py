"""Install with pip, and show what it is doing: which packages it fetches, which file the compiler has finished.

    python tools/install.py --editable ".[cli]"

Takes the arguments of `pip install`. If pip fails, the end of its output is shown.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator

LAST_LINES = 60  # of pip's output, shown if it fails
STAGES = {  # what pip says, and what is shown
    r"Collecting (\S+)": "fetching {0}",
    r"Installing build dependencies": "fetching what the build needs",
    r"Preparing (?:editable )?metadata": "reading the project",
    r"Building (?:editable|wheel) for (\S+)": "compiling {0}",
    r"\[(\d+)/(\d+)\] Building CXX object \S*?([^/.]+)\.dir/\S*?([^/]+)\.o": "compiled {0} of {1}: {2} {3}",
    r"\[(\d+)/(\d+)\] Linking": "linked {0} of {1}",
    r"Installing collected packages: (.*)": "installing {0}",
}


def shown(lines: Iterable[str]) -> Iterator[str]:
    """What to show for these lines of pip's output, each thing once."""
    seen = set()
    for line in lines:
        for pattern, words in STAGES.items():
            if found := re.match(rf"\s*{pattern}", line):
                text = words.format(*found.groups())
                if text not in seen:
                    seen.add(text)
                    yield text


def main(arguments: list[str]) -> int:
    """Run pip; return its exit code."""
    command = [sys.executable, "-m", "pip", "install", "--verbose", "--disable-pip-version-check", *arguments]
    last: deque[str] = deque(maxlen=LAST_LINES)
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        lines = (last.append(line) or line for line in pip.stdout or ())
        for text in shown(lines):
            print(f"{time.monotonic() - start:4.0f} s  {text[:100]}", flush=True)
    if pip.returncode:
        print("".join(last), file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
