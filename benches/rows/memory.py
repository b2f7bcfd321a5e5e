"""Memory that a fit needs beyond its data: the peak of the process's own pages, watched from outside."""

import select
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from measure import OURS, Budget, Row

COLUMNS = 100
TALL = 1_000_000
STEP = 0.002  # seconds between two looks at the process
NOISE = 1.0  # megabytes: what the interpreter itself takes and gives back; less is counted as this
# Waits for a word before fitting, so that what loading left behind is known first.
PROGRAM = """
import sys
import numpy as np
X = np.load({path!r}, mmap_mode={mode!r})
{setup}
small = X[:500].copy()
fit(small)
print("ready", flush=True)
sys.stdin.readline()
fit(X)
print("done", flush=True)
sys.stdin.readline()
"""
SKLEARN = "import sklearn.decomposition as s\n"
CONTESTANTS = {
    OURS: "import prinax\nfit = prinax.PCA(n_components=10).fit",
    "prinax IncrementalPCA": "import prinax\nfit = prinax.IncrementalPCA(n_components=10).fit",
    "scikit-learn covariance_eigh": SKLEARN + "fit = s.PCA(10, svd_solver='covariance_eigh').fit",
    "scikit-learn full": SKLEARN + "fit = s.PCA(10, svd_solver='full').fit",
    "scikit-learn IncrementalPCA": SKLEARN + "fit = s.IncrementalPCA(10).fit",
    "NumPy centre, X.T @ X, eigh": """
def fit(X):
    centred = X - X.mean(axis=0)
    return np.linalg.eigh(centred.T @ centred)
""",
}


def rows() -> list[Row]:
    return [
        _row("memory of a fit, 100000 x 100 in RAM", TALL // 10, None, True),
        _row("memory of a fit, 1000000 x 100 in RAM", TALL, None, False),
        _row("memory of a fit, 1000000 x 100 memory-mapped", TALL, "r", False),
    ]


def _row(name: str, n: int, mode: str | None, quick: bool) -> Row:
    return Row(name=name, group="memory", measured=partial(measured, n, mode), quick=quick, unit="MB")


def measured(n: int, mode: str | None, _budget: Budget) -> dict[str, list[float]]:
    """Peak megabytes of each contestant beyond what it held before its fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "X.npy")
        file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, COLUMNS))
        rng = np.random.default_rng(0)
        for start in range(0, n, TALL // 10):
            part = file[start : start + TALL // 10]
            part[:] = rng.standard_normal(part.shape)
        file.flush()
        del file, part
        return {
            name: [peak(PROGRAM.format(path=path, mode=mode, setup=setup))]
            for name, setup in CONTESTANTS.items()
        }


def peak(program: str) -> float:
    """Megabytes of anonymous memory that the fit of this program added at its height."""
    command = [sys.executable, "-P", "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        if process.stdout is None or process.stdin is None or process.stdout.readline() != "ready\n":
            raise RuntimeError("the contestant did not get as far as its fit")
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
