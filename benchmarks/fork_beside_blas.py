"""Whether NumPy's BLAS lets a process fork while other threads multiply matrices. eulermeans takes no part.

    python benchmarks/fork_beside_blas.py --seconds 60

With OpenBLAS and its own threads, fork may wait for ever in OpenBLAS' handler (blas_thread_shutdown). Python
then prints where each thread is, and the process exits with 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import threading
import time
import warnings

import numpy as np

PATIENCE = 20.0  # seconds after which a fork is stuck


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
    matrix = np.random.default_rng(0).standard_normal((150, 150))

    def multiply() -> None:
        while True:
            np.linalg.solve(matrix, matrix @ matrix)

    for _ in range(2):
        threading.Thread(target=multiply, daemon=True).start()
    end, n_forks = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        faulthandler.cancel_dump_traceback_later()
        n_forks += 1
    print(f"{n_forks} forks")


if __name__ == "__main__":
    main()
