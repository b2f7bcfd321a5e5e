"""Whether a call lets go of the interpreter while it computes, so that other threads run Python meanwhile."""

import sys
import threading
import time
from itertools import pairwise

# In seconds. No thread is ever made to let go of the interpreter: another runs only where the call lets it.
NEVER = 1e3

# The other thread has to be woken by the system, which on a busy machine may take longer than a call.
CALLS = 30

# In seconds: how long the other thread sleeps between two looks at the clock.
NAP = 2e-4


def is_free_during(call):
    """Does another thread keep running through one of `CALLS` calls: is it never held up for half of it?

    A call that lets go for a moment only, to copy its input say, holds it up for nearly all of its time.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(NEVER)
    try:
        return any(_longest_wait(call) < 0.5 for _ in range(CALLS))
    finally:
        sys.setswitchinterval(usual)


def _longest_wait(call):
    """The longest time that the other thread does not run, as a share of the call's."""
    looks, over = [], threading.Event()

    def look():
        while not over.is_set():
            looks.append(time.perf_counter())
            time.sleep(NAP)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
    finally:
        over.set()
        thread.join()
    times = [begin, *(at for at in looks if begin < at < end), end]
    return max(later - at for at, later in pairwise(times)) / (end - begin)
