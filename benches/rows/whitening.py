"""Whitening: fit and transform of the training rows."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import sklearn.decomposition
from measure import OURS, Call, Row

SHAPES = (
    (1000, 20, "float64", True),
    (10_000, 100, "float64", True),
    (100_000, 100, "float64", False),
    (100_000, 100, "float32", False),
)


def rows() -> list[Row]:
    return [
        Row(
            name=f"whiten zca {n} x {d}, {dtype}",
            group="whitening",
            prepare=partial(prepare, n, d, dtype),
            flops=n * d * (d + 1) + 2 * n * d * d,  # the covariance, and the product with W
            read=2 * n * d * np.dtype(dtype).itemsize,
            dtype=dtype,
            quick=quick,
        )
        for n, d, dtype, quick in SHAPES
    ]


def prepare(n: int, d: int, dtype: str) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X = samples.decaying(n, d, dtype)

    def by_hand() -> np.ndarray:
        centred = X - X.mean(axis=0)
        values, U = np.linalg.eigh(centred.T @ centred / (n - 1))
        return centred @ (U / np.sqrt(values) @ U.T)

    calls: dict[str, Call] = {
        OURS: lambda: prinax.Whitener("zca").fit_transform(X),
        "prinax pca": lambda: prinax.Whitener("pca").fit_transform(X),
        "NumPy eigh, zca": by_hand,
        # scikit-learn has no ZCA; its PCA stops before the last rotation.
        "scikit-learn PCA(whiten)": lambda: sklearn.decomposition.PCA(
            whiten=True, svd_solver="covariance_eigh"
        ).fit_transform(X),
    }
    return calls, errors


def errors(whitened: np.ndarray) -> dict[str, float]:
    """Largest departure of the covariance of the whitened rows from the identity."""
    covariance = np.cov(whitened.astype(np.float64), rowvar=False)
    return {"covariance": float(np.abs(covariance - np.eye(len(covariance))).max())}
