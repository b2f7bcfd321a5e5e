"""What an import costs on top of NumPy's, alone and with a first model, each in fresh processes."""

import subprocess
import sys
from functools import partial
from importlib.util import find_spec

from measure import OURS, Budget, Row

ROUNDS = 11
MODULES = {OURS: "prinax", "scikit-learn": "sklearn.decomposition", "SciPy": "scipy.linalg", "torch": "torch"}
IMPORT = {name: f"import {module}" for name, module in MODULES.items()}
# What an import leaves for later is in here: a package may load its modules when they are first used.
FIRST_PCA = {
    name: f"from {MODULES[name]} import PCA; PCA(2).fit(numpy.eye(8))" for name in (OURS, "scikit-learn")
}
PROGRAM = "import numpy, time; start = time.perf_counter(); {0}; print(time.perf_counter() - start)"


def rows() -> list[Row]:
    named = {"import, on top of NumPy": IMPORT, "import and a first PCA, on top of NumPy": FIRST_PCA}
    return [Row(name=n, group="import", measured=partial(measured, p), quick=True) for n, p in named.items()]


def measured(programs: dict[str, str], budget: Budget) -> dict[str, list[float]]:
    """Seconds of each program: the contestants in turn, round after round."""
    times: dict[str, list[float]] = {n: [] for n in programs if find_spec(MODULES[n].partition(".")[0])}
    for _ in range(min(ROUNDS, 2 * budget.least)):
        for name, values in times.items():
            command = [sys.executable, "-P", "-c", PROGRAM.format(programs[name])]
            values.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return times
