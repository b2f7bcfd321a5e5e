"""Instructions of fixed calls against those on file: a regression shows without a quiet machine.

python benches/instructions.py [--write]

benches/calls.py runs once under valgrind's callgrind, which writes its counts down at every call of getppid;
each call stands between two of those, and what a call of nothing takes there is taken away. The same build
gives the same counts: benches/instructions.json holds them, an entry for each architecture and instruction
level. Without valgrind nothing is checked.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("instructions.json")
# Where things lie in memory moves a call of microseconds by up to 2 % (the interpreter's caches), others by
# 0.3 %; work done twice, or a loop no longer vectorised, by far more.
TOLERANCE = 0.03
MARK = "getppid"  # a function that any libc exports, that Python can call, and that nothing else calls
# The file's path in valgrind's output, by which the extension's own instructions are known.
EXTENSION = "/prinax/_core."
# The highest level that valgrind knows. It counts a string instruction once a byte, so libc must not fill and
# copy with those. NumPy prepares the data on one thread.
FIXED = {
    "PRINAX_SIMD": "v3",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-ERMS,-FSRM",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
KEPT = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")  # nothing else that is set may reach the program
# What a count depends on beside the level: where these differ, the extension's own part still compares.
SHAPING = ("numpy", "python", "libc", "valgrind")
MORE = f"FAILED: more than {100 * TOLERANCE:.0f} % over the file"
FEWER = "fewer: renew the file with --write"
NEW = "not on file: add it with --write"
MISSING = (
    "instruction counts are left out: valgrind is missing (apt install valgrind, or dnf install valgrind)"
)


@dataclass(frozen=True)
class Counts:
    """Instructions of each call: all of them, and those of the extension; and what shapes them."""

    setting: dict[str, str]
    total: dict[str, int]
    extension: dict[str, int]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"put these counts on file ({FILE.name})")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print(MISSING)
        return 0
    level, found = count(valgrind)
    on_file = json.loads(FILE.read_text()) if FILE.exists() else {}
    key = f"{platform.machine()} {level}"
    print(f"instructions a call at {key}: " + ", ".join(f"{k} {v}" for k, v in found.setting.items()))
    failed = False
    if key in on_file:
        failed = report(found, Counts(**on_file[key]))
    else:
        print(f"none on file for {key}: nothing to compare with")
    if options.write:
        FILE.write_text(json.dumps(on_file | {key: vars(found)}, indent=2) + "\n")
        print(f"written to {FILE.name}")
        return 0
    return int(failed)


# --- counting -----------------------------------------------------------------------------------------------


def count(valgrind: str) -> tuple[str, Counts]:
    """The instruction level, and the counts of every call."""
    about, parts = run(valgrind)
    names, samples = about["calls"], about["samples"]
    if len(parts) != 2 * samples * len(names):
        raise SystemExit(f"{MARK} was called {len(parts)} times, not {2 * samples * len(names)}")
    # A part ends where a sample begins, the next one where it ends.
    pairs = smallest([parse(part) for part in parts[1::2]], names, samples)
    total, extension = ({name: pair[i] for name, pair in pairs.items()} for i in (0, 1))
    setting = {
        "prinax": about["prinax"],
        "numpy": about["numpy"],
        "python": f"{'.'.join(platform.python_version_tuple()[:2])} ({platform.python_compiler()})",
        "libc": " ".join(platform.libc_ver()),
        "valgrind": parts[0].partition("creator: callgrind-")[2].split("\n")[0],
    }
    return about["level"], Counts(setting, total, extension)


def run(valgrind: str) -> tuple[dict[str, Any], list[str]]:
    """What the program says of itself, and callgrind's parts in order, one a call of the mark."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | FIXED
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/part", f"--dump-before={MARK}"),
            *("--compress-strings=no", "--compress-pos=no", "--dump-line=no"),
            *(sys.executable, str(Path(__file__).with_name("calls.py"))),
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"the calls failed under valgrind:\n{done.stderr[-2000:]}")
        files = sorted(Path(folder).glob("part.*"), key=lambda path: int(path.suffix[1:]))
        return json.loads(done.stdout), [file.read_text() for file in files]


def parse(text: str) -> tuple[int, int]:
    """All instructions in one of callgrind's parts, and those of the extension."""
    total = extension = 0
    ours = inclusive = False
    for line in text.splitlines():
        if line.startswith("ob="):
            ours = EXTENSION in line
        elif line.startswith("calls="):
            inclusive = True  # the next line repeats what the function called has taken
        elif line[:1].isdigit():
            taken = 0 if inclusive else int(line.split()[1])
            total += taken
            extension += taken if ours else 0
            inclusive = False
    return total, extension


def smallest(parts: list[tuple[int, int]], names: list[str], samples: int) -> dict[str, tuple[int, int]]:
    """The least of each call's samples, less that of the first, which does nothing."""
    least = {
        name: tuple(map(min, zip(*parts[i * samples : (i + 1) * samples], strict=True)))
        for i, name in enumerate(names)
    }
    nothing = least.pop(names[0])
    return {name: (total - nothing[0], extension - nothing[1]) for name, (total, extension) in least.items()}


# --- deciding -----------------------------------------------------------------------------------------------


def report(found: Counts, filed: Counts) -> bool:
    """Prints a line a call; whether any takes too many instructions."""
    other = [name for name in SHAPING if found.setting[name] != filed.setting.get(name)]
    if other:
        print("on file for " + ", ".join(f"{name} {filed.setting.get(name)}" for name in other))
        print("so only the extension's own instructions are compared, not the interpreter's and NumPy's")
    now, before = (counts.extension if other else counts.total for counts in (found, filed))
    print(f"{'call':<34} {'found':>12} {'on file':>12} {'change':>9}")
    verdicts = [judge(count, before.get(name, 0)) for name, count in now.items()]
    for (name, count), verdict in zip(now.items(), verdicts, strict=True):
        on_file = before.get(name, 0)
        change = f"{100 * (count / on_file - 1):+.2f} %" if on_file else "-"
        print(f"{name:<34} {count:>12,} {on_file:>12,} {change:>9}  {verdict}".rstrip())
    return MORE in verdicts


def judge(count: int, on_file: int) -> str:
    """What a count means beside the one on file (0: none); nothing where the two agree."""
    if not on_file:
        return NEW
    if count > on_file * (1 + TOLERANCE):
        return MORE
    return FEWER if count < on_file * (1 - TOLERANCE) else ""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
