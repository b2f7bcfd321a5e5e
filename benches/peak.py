"""The peak of a process's own memory during one call, watched from outside."""

import select
import subprocess
import sys
import time

STEP = 0.002  # seconds between two looks at the process
NOISE = 1.0  # megabytes: what the interpreter itself takes and gives back; less is counted as this
# Waits for a word before the call, so that what loading and a small call left behind is known first; what the
# small call has freed is given back, else the call would find it ready and uncounted.
PROGRAM = """
import ctypes
import sys
import numpy as np
X = np.load({path!r}, mmap_mode={mode!r})
{setup}
small = X[:200].copy()
call(small)
getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
print("ready", flush=True)
sys.stdin.readline()
call(X)
print("done", flush=True)
sys.stdin.readline()
"""


def peak(setup: str, path: str, mode: str | None = None) -> float:
    """Megabytes that a call added at its height to a process that holds the array at `path`.

    `setup` defines `call`, a function of the array; with a `mode` the array is mapped, not read.
    """
    command = [sys.executable, "-P", "-c", PROGRAM.format(setup=setup, path=path, mode=mode)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        if process.stdout is None or process.stdin is None or process.stdout.readline() != "ready\n":
            raise RuntimeError("the contestant did not get as far as its call")
        before = highest = anonymous(process.pid)
        process.stdin.write("\n")
        while process.poll() is None:
            highest = max(highest, anonymous(process.pid))
            time.sleep(STEP)
            if readable(process.stdout):
                break
        process.communicate("\n")
    return max((highest - before) / 1e6, NOISE)


def readable(stream: object) -> bool:
    return bool(select.select([stream], [], [], 0)[0])


def anonymous(pid: int) -> int:
    """Bytes of the process's own pages (not those of mapped files) now in memory."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0
