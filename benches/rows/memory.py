"""Memory that calls need beyond their data, each in a process of its own, beside what is predicted of us."""

import tempfile
from collections.abc import Callable
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
import prinax
import samples
from measure import MEMORY_ROWS, OURS, Budget, Row
from peak import peak
from prediction import Prediction, megabytes

from rows import hsic, kernel

K = 10
COLUMNS = 100
TALL = 1_000_000
CHUNK = 100_000  # rows of tall data that are made at a time
WIDE = (10_000, 2000)
SHORT = (200, 40_000)
KERNEL_ROWS = 4000
EXPLICIT = 2000  # rows up to which explicit products of n x n matrices take less than seconds
HSIC_ROWS = (EXPLICIT, 8000)

# Writes a task's data to a file, and gives the programs: name -> what defines `call`.
Task = Callable[[str], dict[str, str]]


def rows() -> list[Row]:
    predicted = megabytes(covariance_bytes, COLUMNS, prinax.get_num_threads())
    return [
        _row("a fit, 100000 x 100 in RAM", partial(tall, TALL // 10), predicted, quick=True),
        _row("a fit, 1000000 x 100 in RAM", partial(tall, TALL), predicted),
        _row("a fit, 1000000 x 100 memory-mapped", partial(tall, TALL), predicted, mode="r"),
        _row(
            "a weighted fit, 1000000 x 100 in RAM",
            partial(weighted, TALL),
            megabytes(weighted_bytes, TALL, COLUMNS, prinax.get_num_threads()),
        ),
        _row(f"a full fit, {SHORT[0]} x {SHORT[1]}, k={K}", short, megabytes(full_bytes, *SHORT, K)),
        _row(f"a lanczos fit, {WIDE[0]} x {WIDE[1]}, k={K}", wide, megabytes(lanczos_bytes, *WIDE, K)),
        _row(
            f"a KernelPCA fit, {KERNEL_ROWS} x {kernel.D}, k={K}",
            kernel_pca,
            megabytes(kernel_pca_bytes, KERNEL_ROWS, K),
        ),
        *(
            _row(
                f"HSIC, n={n}",
                partial(dependence, n),
                megabytes(hsic_bytes, n, hsic.COLUMNS),
                quick=n == EXPLICIT,
            )
            for n in HSIC_ROWS
        ),
    ]


def _row(name: str, task: Task, predicted: Prediction, mode: str | None = None, quick: bool = False) -> Row:
    return Row(
        name=f"memory of {name}",
        group=MEMORY_ROWS,
        measured=partial(measured, task, mode),
        quick=quick,
        unit="MB",
        predicted=predicted,
    )


def measured(task: Task, mode: str | None, _budget: Budget) -> dict[str, list[float]]:
    """Peak megabytes of each contestant beyond what it held before its call."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "X.npy")
        return {name: [peak(program, path, mode)] for name, program in task(path).items()}


# --- the formulas, in bytes ---------------------------------------------------------------------------------


def covariance_bytes(d: int, threads: int) -> float:
    """8 (w d^2 / 2 + t (d^2 + 96 d)): w = 1 + t ceil(4 / t), at most 16, halves; t products and t panels."""
    halves = min(1 + threads * ceil(4 / threads), 16)
    return 8 * (halves * d**2 / 2 + threads * (d**2 + 96 * d))


def weighted_bytes(n: int, d: int, threads: int) -> float:
    """8 (w d^2 / 2 + t (d^2 + 96 d)) + n, w and t as above: a byte a weight, for the look at them."""
    return covariance_bytes(d, threads) + n


def full_bytes(n: int, d: int, k: int) -> float:
    """8 (n + k) d for n < d: one copy of X, and the components."""
    return 8 * (n + k) * d


def lanczos_bytes(n: int, d: int, k: int) -> float:
    """16 min(n, d) m, m = max(3 k + 4 b, 128) for blocks of b = 4 (k >= 32: 8): the basis and its images."""
    return 16 * min(n, d) * max(3 * k + 4 * (4 if k < 32 else 8), 128)


def kernel_pca_bytes(n: int, k: int) -> float:
    """4 n (n + 192) + 16 n m, m as for lanczos: half the kernel matrix, the basis and its images."""
    return 4 * n * (n + 192) + lanczos_bytes(n, n, k)


def hsic_bytes(n: int, d: int) -> float:
    """8 n (2 d + 64): both samples, and four sums a row from each of 16 parts of the pairs."""
    return 8 * n * (2 * d + 64)


# --- the tasks ----------------------------------------------------------------------------------------------

SKLEARN = "import sklearn.decomposition as s\n"


def noise(n: int, path: str) -> None:
    """Made in pieces."""
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, COLUMNS))
    rng = np.random.default_rng(0)
    for start in range(0, n, CHUNK):
        part = file[start : start + CHUNK]
        part[:] = rng.standard_normal(part.shape)
    file.flush()


def tall(n: int, path: str) -> dict[str, str]:
    noise(n, path)
    return {
        OURS: f"import prinax\ncall = prinax.PCA({K}).fit",
        "prinax IncrementalPCA": f"import prinax\ncall = prinax.IncrementalPCA({K}).fit",
        "scikit-learn covariance_eigh": SKLEARN + f"call = s.PCA({K}, svd_solver='covariance_eigh').fit",
        "scikit-learn full": SKLEARN + f"call = s.PCA({K}, svd_solver='full').fit",
        "scikit-learn IncrementalPCA": SKLEARN + f"call = s.IncrementalPCA({K}).fit",
        "NumPy centre, X.T @ X, eigh": """
def call(X):
    centred = X - X.mean(axis=0)
    return np.linalg.eigh(centred.T @ centred)
""",
    }


def weighted(n: int, path: str) -> dict[str, str]:
    """Weights that are there before the call."""
    noise(n, path)
    weights = "weights = np.arange(len(X)) % 4.0\n"
    fit = "import prinax\ncall = lambda X: prinax.{}.fit(X, sample_weight=weights[: len(X)])"
    return {
        OURS: weights + fit.format(f"PCA({K})"),
        "prinax IncrementalPCA": weights + fit.format(f"IncrementalPCA({K})"),
        "NumPy weigh, X.T @ X, eigh": weights
        + """
def call(X):
    w = weights[: len(X)]
    centred = (X - w @ X / w.sum()) * np.sqrt(w)[:, None]
    return np.linalg.eigh(centred.T @ centred)
""",
    }


def short(path: str) -> dict[str, str]:
    np.save(path, samples.decaying(*SHORT))
    return {
        OURS: f"import prinax\ncall = prinax.PCA({K}, svd_solver='full').fit",
        "scikit-learn full": SKLEARN + f"call = s.PCA({K}, svd_solver='full').fit",
        "NumPy centre, svd": """
def call(X):
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
""",
    }


def wide(path: str) -> dict[str, str]:
    np.save(path, samples.decaying(*WIDE))
    theirs = SKLEARN + f"call = s.PCA({K}, svd_solver='{{}}', random_state=0).fit"
    return {
        OURS: f"import prinax\ncall = prinax.PCA({K}, svd_solver='lanczos').fit",
        "scikit-learn arpack": theirs.format("arpack"),
        "scikit-learn randomized": theirs.format("randomized"),
    }


def kernel_pca(path: str) -> dict[str, str]:
    X = samples.decaying(KERNEL_ROWS, kernel.D)
    np.save(path, X)
    options = f"{K}, kernel='rbf', gamma={kernel.near_median(X)}"
    theirs = f"call = s.KernelPCA({options}, eigen_solver='arpack', random_state=0).fit"
    return {
        OURS: f"import prinax\ncall = prinax.KernelPCA({options}).fit",
        "scikit-learn arpack": SKLEARN + theirs,
    }


def dependence(n: int, path: str) -> dict[str, str]:
    """The samples side by side; those whose n x n products take long are left out."""
    np.save(path, np.hstack(hsic.pair(n)))
    pair = f"""
import sys
import prinax
sys.path.append({str(Path(__file__).parents[1])!r})
from rows.hsic import GAMMA, gaussian, numpy_hsic
def call(XY):
    X, Y = XY[:, :{hsic.COLUMNS}], XY[:, {hsic.COLUMNS}:]
"""
    programs = {
        OURS: pair + "    return prinax.hsic(X, Y, gamma_x=GAMMA, gamma_y=GAMMA)",
        "NumPy, one side centred": pair + "    return numpy_hsic(gaussian(X), gaussian(Y))",
        "NumPy K @ H @ L @ H": pair
        + "    H = np.eye(len(X)) - 1 / len(X)\n"
        + "    return np.trace(gaussian(X) @ H @ gaussian(Y) @ H) / (len(X) - 1) ** 2",
    }
    if n > EXPLICIT:
        del programs["NumPy K @ H @ L @ H"]
    return programs
