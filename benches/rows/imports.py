"""What an import costs on top of NumPy's, each in fresh processes."""

import subprocess
import sys
from importlib.util import find_spec

from measure import OURS, Budget, Row

ROUNDS = 11
MODULES = {OURS: "prinax", "scikit-learn": "sklearn.decomposition", "SciPy": "scipy.linalg", "torch": "torch"}
PROGRAM = "import numpy, time; start = time.perf_counter(); import {0}; print(time.perf_counter() - start)"


def rows() -> list[Row]:
    return [Row(name="import, on top of NumPy", group="import", measured=measured, quick=True)]


def measured(budget: Budget) -> dict[str, list[float]]:
    """Seconds of each import: the contestants in turn, round after round."""
    times: dict[str, list[float]] = {n: [] for n, m in MODULES.items() if find_spec(m.partition(".")[0])}
    for _ in range(min(ROUNDS, 2 * budget.least)):
        for name, values in times.items():
            command = [sys.executable, "-P", "-c", PROGRAM.format(MODULES[name])]
            values.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return times
