"""Whether a call lets go of the interpreter while it computes, so that other threads run Python meanwhile."""

import sys
import threading

# In seconds. No thread is ever made to let go of the interpreter: another runs only where the call lets it.
NEVER = 1e3

# The other thread has to be woken by the system first, which on a busy machine may take longer than a call.
CALLS = 30


def is_free_during(call):
    """Does another thread, which only waits for the interpreter, run before one of `CALLS` calls returns?"""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(NEVER)
    try:
        return any(_ran_during(call) for _ in range(CALLS))
    finally:
        sys.setswitchinterval(usual)


def _ran_during(call):
    begin, ran = threading.Lock(), []

    def run():
        with begin:
            ran.append(True)

    begin.acquire()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        begin.release()
        call()
        return bool(ran)
    finally:
        thread.join()
