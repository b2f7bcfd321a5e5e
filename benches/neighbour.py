"""A neighbour on the machine: another process that keeps one CPU busy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Ends when its standard input does, so it outlives nobody, not even a parent that is killed.
PROGRAM = """
import select
import sys
import numpy as np
A = np.ones((512, 512))
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    A @ A
"""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@contextmanager
def busy() -> Iterator[int]:
    """Keeps one CPU multiplying matrices until the block is left, whatever happens; gives its process id."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | ONE_THREAD,
        start_new_session=True,  # Ctrl-C is for us: the neighbour is ended below
    ) as process:
        try:
            if process.stdout is None or process.stdout.readline() != b"ready\n":
                raise RuntimeError("the neighbour did not start")
            yield process.pid
        finally:
            process.kill()
