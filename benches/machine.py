"""The machine: what it is, what it could do at best, and how each library is told its number of threads."""

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import prinax
import scipy.linalg  # loads SciPy's own BLAS, so that the controller below sees it
from prinax import _core
from threadpoolctl import ThreadpoolController

PACKAGES = ("prinax", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "torch", "fbpca")
SIDE = 1536  # of the product that measures arithmetic: long enough to hide packing, 50 ms on one core
# Seconds between two measurements: the threads of the last one fall asleep, and the next one does not find
# them on one CPU because they were there before.
APART = 0.15
LENGTH = 1 << 25  # elements of the array that measures reading: 256 MB, far beyond any cache


@dataclass(frozen=True)
class Limits:
    """Best rates seen in this run: flops a second by (threads, dtype), bytes a second by threads."""

    flops: dict[tuple[int, str], float]
    read: dict[int, float]
    source: str

    def seconds(self, threads: int, dtype: str, flops: float, read: float) -> float:
        """The least time for so much arithmetic and so much reading, whichever takes longer."""
        return max(flops / self.flops[threads, dtype], read / self.read[threads])

    def or_better(self, other: "Limits") -> "Limits":
        """The higher of every two rates: a neighbour on the machine only takes away."""
        flops = {key: max(rate, other.flops[key]) for key, rate in self.flops.items()}
        read = {key: max(rate, other.read[key]) for key, rate in self.read.items()}
        return Limits(flops, read, self.source)


_setters: list[Callable[[int], object]] = [prinax.set_num_threads]


def on_threads(setter: Callable[[int], object]) -> None:
    """Registers a library's own way of setting its number of threads."""
    _setters.append(setter)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Every library in this process on `count` threads."""
    for setter in _setters:
        setter(count)
    with _controller().limit(limits=count):
        yield


_controllers: list[ThreadpoolController] = []


def _controller() -> ThreadpoolController:
    # Looking the libraries up takes milliseconds: once, after the peers are loaded.
    if not _controllers:
        _controllers.append(ThreadpoolController())
    return _controllers[0]


def best(call: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of a few runs, in seconds: for limits, where only disturbances add."""
    shortest = float("inf")
    for _ in range(repeats):
        time.sleep(APART)
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def limits(counts: tuple[int, ...]) -> Limits:
    """Measures the best rates at each thread count; NumPy's matrix product stands in for the FMA peak."""
    flops, read = {}, {}
    long = np.ones(LENGTH)
    for count in counts:
        with threads(count):
            for dtype in ("float64", "float32"):
                square = np.ones((SIDE, SIDE), dtype)
                flops[count, dtype] = 2 * SIDE**3 / best(lambda square=square: square @ square)
            read[count] = long.nbytes / best(lambda: long @ long)
    return Limits(
        flops, read, f"NumPy's {SIDE} x {SIDE} matrix product and the dot product of {long.nbytes >> 20} MB"
    )


def description() -> list[str]:
    """Processor, instruction set, versions and BLAS kernels, one line each."""
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    blas = sorted(
        {
            f"{lib['internal_api']} {lib.get('version')} ({lib.get('architecture', '?')})"
            for lib in _controller().info()
        }
    )
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return [
        f"{processor()}, {len(os.sched_getaffinity(0))} CPUs, {platform.system()}, load {load}",
        f"prinax runs at instruction level {_core.simd_level()}; Python {sys.version.split()[0]}",
        ", ".join(versions),
        "BLAS in use: " + ", ".join(blas),
    ]


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


assert scipy.linalg  # imported for its effect
