"""Supervised PCA with classes: means of the classes in one read, against NumPy."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
from measure import OURS, Call, Row

CLASSES = 10
SHAPES = ((5000, 784, "float64", True), (60_000, 784, "float64", False), (60_000, 784, "float32", False))


def rows() -> list[Row]:
    return [
        Row(
            name=f"SPCA {n} x {d}, {CLASSES} classes, {dtype}",
            group="HSIC and supervised PCA",
            prepare=partial(prepare, n, d, dtype),
            flops=2 * n * d + 6 * d * CLASSES**2,
            read=n * d * np.dtype(dtype).itemsize,
            dtype=dtype,
            quick=quick,
        )
        for n, d, dtype, quick in SHAPES
    ]


def prepare(n: int, d: int, dtype: str) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d, dtype)
    y = np.random.default_rng(1).integers(0, CLASSES, n)

    def one_hot() -> np.ndarray:
        return class_directions(np.eye(CLASSES, dtype=X.dtype)[y].T @ X, X, y)

    def by_class() -> np.ndarray:
        return class_directions(np.array([X[y == c].sum(axis=0) for c in range(CLASSES)]), X, y)

    def mean_read() -> np.ndarray:
        # What reading X costs NumPy: no directions, so never a rival.
        X.sum(axis=0)
        return np.zeros((CLASSES - 1, d))

    calls: dict[str, Call] = {
        OURS: lambda: prinax.SPCA().fit(X, y).components_,
        "NumPy one-hot.T @ X, SVD": one_hot,
        "NumPy sums by class, SVD": by_class,
        "NumPy X.sum alone": mean_read,
    }
    long = X.astype(np.float64)
    return calls, partial(
        errors, class_directions(np.array([long[y == c].sum(axis=0) for c in range(CLASSES)]), long, y)
    )


def class_directions(sums: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Directions (C - 1, d) from sums of the rows of each class."""
    shares = np.bincount(y, minlength=CLASSES) / len(X)
    return np.linalg.svd(sums - shares[:, None] * sums.sum(axis=0), full_matrices=False)[2][: CLASSES - 1]


def errors(exact: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Largest sine between the subspaces."""
    found = np.asarray(found, np.float64)
    return {"subspace": float(np.linalg.norm(exact - exact @ found.T @ found, 2))}
