"""Scripts in processes of their own: what a fit does to memory, threads, signals and forks."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import prinax

PREAMBLE = """
import os, resource, signal, sys, threading, time, warnings
import numpy as np
from numpy.lib.stride_tricks import as_strided
import prinax
from prinax import PCA

# From Python 3.12 on a fork beside threads is warned of, and some scripts are about just that.
warnings.filterwarnings("ignore", "This process .* is multi-threaded")

def windows(n, d):
    "n x d overlapping windows of a short buffer: as many operations as wanted, no memory."
    return as_strided(np.random.default_rng(0).standard_normal(n + d), (n, d), (8, 8))

def peak():
    "Largest resident size so far, in MiB."
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def tasks():
    return len(os.listdir("/proc/self/task"))
"""


def start(script, **environment):
    """A Python process that runs the script after the preamble."""
    package = str(Path(prinax.__file__).parents[1])
    inherited = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script)],
        env=inherited | {"PYTHONPATH": package} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(script, timeout=60, **environment):
    """What the script prints; it must end well, in time, and with nothing on stderr."""
    with start(script, **environment) as process:
        try:
            out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0, f"exit code {process.returncode}\n{errors}"
    assert errors == ""
    return out.strip()
