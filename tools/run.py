"""Run one step of the build: say what it is, show that it is alive, say how long it took.

python tools/run.py [--bar] WHAT COMMAND...      --bar: the command draws its own progress bar on a terminal
"""

import subprocess
import sys
import time

EVERY = 5.0  # seconds between two signs of life


def main(arguments: list[str]) -> int:
    has_bar = arguments[0] == "--bar"
    what, *command = arguments[has_bar:]
    print(f"==> {what}", flush=True)
    silent = has_bar and sys.stdout.isatty()
    start = time.monotonic()
    with subprocess.Popen(command) as process:
        while True:
            try:
                code = process.wait(EVERY)
                break
            except subprocess.TimeoutExpired:
                if not silent:
                    print(f"    ... {time.monotonic() - start:.0f} s: {what}", flush=True)
            except KeyboardInterrupt:
                process.wait()
                return 130
    took = f"after {time.monotonic() - start:.1f} s"
    print(f"    done {took}: {what}" if code == 0 else f"    FAILED {took}: {what}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
