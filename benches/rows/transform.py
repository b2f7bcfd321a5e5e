"""Projecting new rows with a fitted PCA or its frozen form: one row for services, batches for pipelines."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import sklearn.decomposition
from measure import OURS, Call, Row

CHECKED = 200  # rows whose scores are compared with long double
SHAPES = (
    (1, 20, 5, "float64"),
    (1, 100, 10, "float64"),
    (1, 784, 50, "float64"),
    (1, 784, 50, "float32"),
    (32, 100, 10, "float64"),
    (1000, 100, 10, "float64"),
    (5000, 784, 50, "float64"),
)
FROZEN = (
    (1, 100, 10, "float64"),
    (1, 100, 10, "float32"),
    (1, 784, 50, "float64"),
    (1, 784, 50, "float32"),
    (32, 100, 10, "float64"),
    (1000, 100, 10, "float64"),
    (1000, 784, 50, "float64"),
)


def rows() -> list[Row]:
    return [_row("transform", False, *shape) for shape in SHAPES] + [
        _row("frozen", True, *shape) for shape in FROZEN
    ]


def _row(what: str, frozen: bool, m: int, d: int, k: int, dtype: str) -> Row:
    return Row(
        name=f"{what} {m} row{'s' * (m > 1)}, d={d}, k={k}, {dtype}",
        group="transform",
        prepare=partial(prepare, frozen, m, d, k, dtype),
        flops=2 * m * d * k,
        read=m * d * np.dtype(dtype).itemsize,
        dtype=dtype,
        quick=True,
    )


def prepare(
    frozen: bool, m: int, d: int, k: int, dtype: str
) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(max(m, 1000), d, dtype)
    new = X[:m].copy()
    ours = prinax.PCA(n_components=k).fit(X)
    theirs = sklearn.decomposition.PCA(k, svd_solver="full").fit(X)
    # One model for all, so that the scores can be compared digit for digit.
    theirs.components_, theirs.mean_ = ours.components_, ours.mean_.astype(dtype)
    mean, matrix = theirs.mean_, np.ascontiguousarray(ours.components_.T)
    ready, out = ours.freeze(), np.empty((m, k), dtype)
    frozen_calls: dict[str, Call] = {OURS: lambda: ready(new), "prinax, out=": lambda: ready(new, out=out)}
    calls = frozen_calls if frozen else {OURS: lambda: ours.transform(new)}
    calls |= {
        "NumPy (x - mean) @ W": lambda: (new - mean) @ matrix,
        "scikit-learn": lambda: theirs.transform(new),
    }
    exact = (new[:CHECKED].astype(np.longdouble) - ours.mean_) @ matrix.astype(np.longdouble)
    return calls, partial(errors, exact)


def errors(exact: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Largest error of a score, relative to the largest score."""
    return {"scores": float(np.abs(scores[:CHECKED] - exact).max() / np.abs(exact).max())}
