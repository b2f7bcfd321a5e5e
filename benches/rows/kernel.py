"""Kernel matrices, kernel PCA fits, and new rows under a fitted kernel PCA; all with the rbf kernel."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import scipy.sparse.linalg
import sklearn.decomposition
import sklearn.metrics.pairwise
from measure import OURS, Call, Row
from scipy.spatial.distance import cdist

CHECKED = 8  # rows of a kernel matrix that are compared with long double
EXP = 20  # operations of an exponential, about
K = 10
D = 20
MATRICES = ((1000, 20, True), (5000, 20, False), (2000, 784, False), (5000, 784, False))
FITS = ((500, True), (1000, True), (2000, False), (5000, False))
TRAINED = 1000
BATCHES = (1, 1000)
# Rows up to which peers that take the whole spectrum are worth the wait.
WHOLE_SPECTRUM = 1000


def rows() -> list[Row]:
    return [
        *(
            _row(f"kernel_matrix rbf {n} x {d}", matrices, (n, d), n * n * (d + EXP), q)
            for n, d, q in MATRICES
        ),
        # The kernel matrix once, and as many products with it as an iteration needs.
        *(_row(f"KernelPCA fit {n} x {D}, k={K}", fits, (n,), n * n * (D + EXP + 4 * K), q) for n, q in FITS),
        *(
            _row(
                f"KernelPCA transform {m} row{'s' * (m > 1)}, n={TRAINED}, k={K}",
                transforms,
                (m,),
                m * TRAINED * (3 * D + EXP + 2 * K),
                True,
            )
            for m in BATCHES
        ),
    ]


def _row(name: str, prepare: Callable, shape: tuple[int, ...], flops: float, quick: bool) -> Row:
    return Row(
        name=name,
        group="kernel",
        prepare=partial(prepare, *shape),
        flops=flops,
        read=8 * TRAINED * D if prepare is transforms else 8 * shape[0] ** 2,
        quick=quick,
    )


def matrices(n: int, d: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d)
    gamma = near_median(X)
    calls: dict[str, Call] = {
        OURS: lambda: prinax.kernel_matrix(X, gamma=gamma),
        "NumPy products": lambda: by_products(X, X, gamma),
        "SciPy cdist": lambda: by_differences(X, X, gamma),
        "scikit-learn": lambda: sklearn.metrics.pairwise.rbf_kernel(X, gamma=gamma),
    }
    long = X.astype(np.longdouble)
    apart = np.stack([((x - long) ** 2).sum(axis=1) for x in long[:CHECKED]])
    exact = np.exp(-gamma * apart)
    return calls, lambda found: {"entries": float(np.abs(found[:CHECKED] - exact).max())}


def fits(n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, D)
    gamma = near_median(X)
    theirs = sklearn.decomposition.KernelPCA
    solvers = ["arpack", "randomized"] + ["dense"] * (n <= WHOLE_SPECTRUM)
    calls: dict[str, Call] = {OURS: lambda: prinax.KernelPCA(K, kernel="rbf", gamma=gamma).fit(X)}
    calls["SciPy cdist, eigsh"] = lambda: by_hand(X, gamma)
    for solver in solvers:
        calls[f"scikit-learn {solver}"] = partial(
            theirs(K, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0).fit, X
        )
    return calls, partial(residual, centred(by_differences(X, X, gamma)))


def transforms(m: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(TRAINED, D)
    gamma, new = near_median(X), X[:m] + 0.25
    ours = prinax.KernelPCA(K, kernel="rbf", gamma=gamma).fit(X)
    theirs = sklearn.decomposition.KernelPCA(K, kernel="rbf", gamma=gamma, eigen_solver="dense").fit(X)
    # One model for all, so that the scores can be compared digit for digit.
    theirs.eigenvectors_, theirs.eigenvalues_ = ours.eigenvectors_, ours.eigenvalues_
    A = ours.eigenvectors_ / np.sqrt(ours.eigenvalues_)
    means = by_differences(X, X, gamma).mean(axis=0)
    constant, squares = means @ A, (X**2).sum(axis=1)
    calls: dict[str, Call] = {
        OURS: lambda: ours.transform(new),
        "NumPy products": lambda: by_products(new, X, gamma, squares) @ A - constant,
        "scikit-learn": lambda: theirs.transform(new),
    }
    exact = (by_differences(new, X, gamma) - means) @ A
    return calls, lambda scores: {"scores": float(np.abs(scores - exact).max() / np.abs(exact).max())}


# --- the formulas -------------------------------------------------------------------------------------------


def near_median(X: np.ndarray) -> float:
    """A gamma at which a typical pair of rows has a kernel value of about 0.6."""
    return float(0.5 / np.median(cdist(X[:200], X[:200], "sqeuclidean")))


def by_products(X: np.ndarray, Y: np.ndarray, gamma: float, squares: np.ndarray | None = None) -> np.ndarray:
    """|x|^2 + |y|^2 - 2 x'y, in place: the fast way in NumPy."""
    D2 = X @ Y.T
    D2 *= -2
    D2 += (X**2).sum(axis=1)[:, None]
    D2 += (Y**2).sum(axis=1) if squares is None else squares
    np.maximum(D2, 0, out=D2)
    D2 *= -gamma
    return np.exp(D2, out=D2)


def by_differences(X: np.ndarray, Y: np.ndarray, gamma: float) -> np.ndarray:
    D2 = cdist(X, Y, "sqeuclidean")
    D2 *= -gamma
    return np.exp(D2, out=D2)


def centred(kernel: np.ndarray) -> np.ndarray:
    """H K H, in place."""
    means = kernel.mean(axis=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    return kernel


def by_hand(X: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    kernel = centred(by_differences(X, X, gamma))
    return scipy.sparse.linalg.eigsh(kernel, K, which="LA", v0=np.arange(1.0, len(X) + 1))


def residual(kernel: np.ndarray, model: object) -> dict[str, float]:
    """Largest |K~ v - lambda v| / lambda_1."""
    values, vectors = model if isinstance(model, tuple) else (model.eigenvalues_, model.eigenvectors_)
    left = np.linalg.norm(kernel @ vectors - vectors * values, axis=0)
    return {"residual": float(left.max() / values.max())}
