"""Covariance (d x d) and centred Gram (n x n) matrices."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import sklearn.covariance
from measure import OURS, Call, Row

CHECKED = 8  # rows and columns of the result that are compared with long double
COVARIANCES = (
    (100, 10, "float64", True),
    (1000, 20, "float64", True),
    (1000, 100, "float64", True),
    (10_000, 100, "float64", True),
    (100_000, 50, "float64", False),
    (100_000, 100, "float64", False),
    (100_000, 100, "float32", False),
    (5000, 784, "float64", True),
    (5000, 784, "float32", False),
    (60_000, 784, "float64", False),
    (60_000, 784, "float32", False),
)
GRAMS = ((500, 10_000, "float64", True), (1000, 784, "float64", True), (500, 10_000, "float32", False))


def rows() -> list[Row]:
    return [_row("covariance", covariances, *shape) for shape in COVARIANCES] + [
        _row("gram", grams, *shape) for shape in GRAMS
    ]


def _row(what: str, prepare: Callable, n: int, d: int, dtype: str, quick: bool) -> Row:
    side, length = (d, n) if what == "covariance" else (n, d)
    return Row(
        name=f"{what} {n} x {d}, {dtype}",
        group="covariance and Gram",
        prepare=partial(prepare, n, d, dtype),
        flops=length * side * (side + 1),
        read=n * d * np.dtype(dtype).itemsize,
        dtype=dtype,
        quick=quick,
    )


def covariances(n: int, d: int, dtype: str) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d, dtype)

    def by_hand() -> np.ndarray:
        centred = X - X.mean(axis=0)
        return centred.T @ centred / (n - 1)

    calls: dict[str, Call] = {
        OURS: lambda: prinax.covariance(X),
        "NumPy centre, X.T @ X": by_hand,
        "numpy.cov": lambda: np.cov(X, rowvar=False),
        "scikit-learn": lambda: sklearn.covariance.empirical_covariance(X) * (n / (n - 1)),
    }
    few = X[:, :CHECKED].astype(np.longdouble)
    few -= few.mean(axis=0)
    return calls, partial(errors, few.T @ few / (n - 1))


def grams(n: int, d: int, dtype: str) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d, dtype)

    def by_hand() -> np.ndarray:
        centred = X - X.mean(axis=0)
        return centred @ centred.T

    centred = X[:CHECKED].astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    return {OURS: lambda: prinax.gram(X), "NumPy centre, X @ X.T": by_hand}, partial(
        errors, centred @ centred.T
    )


def errors(exact: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Largest error of an entry, relative to the roots of its two diagonal entries."""
    scale = np.sqrt(np.diag(exact))
    return {"entries": float((np.abs(found[:CHECKED, :CHECKED] - exact) / np.outer(scale, scale)).max())}
