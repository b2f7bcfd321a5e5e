"""PCA fits: the k leading components of n x d, against every peer and every one of its solvers."""

from collections.abc import Callable
from functools import partial

import numpy as np
import peers
import samples
from measure import Call, Row

# Products with X and X' that any iteration needs beyond one a component, for the limit of its road.
EXTRA_PRODUCTS = 10
# Roads of more multiply-adds than this, several seconds, are not run: none comes near the best of its row.
AFFORDABLE = 4.5e10
SHAPES = (
    (100, 10, 5, "float64", True),
    (1000, 20, 5, "float64", True),
    (1000, 100, 10, "float64", True),
    (10_000, 100, 10, "float64", True),
    (100_000, 50, 10, "float64", False),
    (100_000, 100, 10, "float64", False),
    (100_000, 100, 10, "float32", False),
    (5000, 784, 50, "float64", True),
    (5000, 784, 50, "float32", False),
    (5000, 784, 784, "float64", False),
    (60_000, 784, 50, "float64", False),
    (60_000, 784, 50, "float32", False),
    (500, 10_000, 10, "float64", True),
    (2000, 2000, 10, "float64", False),
    (10_000, 2000, 10, "float64", False),
    (10_000, 2000, 10, "float32", False),
)


def rows() -> list[Row]:
    made = [
        _row(
            f"fit {n} x {d}, k={k}, {dtype}", partial(samples.decaying, n, d, dtype), (n, d, k), dtype, quick
        )
        for n, d, k, dtype, quick in SHAPES
    ]
    return [
        *made,
        _row("fit MNIST 5000 x 784, k=50, float64", samples.mnist, (5000, 784, 50), "float64", True),
    ]


def _row(
    name: str, source: Callable[[], np.ndarray], shape: tuple[int, int, int], dtype: str, quick: bool
) -> Row:
    n, d, k = shape
    return Row(
        name=name,
        group="fit",
        prepare=lambda: prepare(source(), k),
        flops=least_flops(n, d, k),
        read=n * d * np.dtype(dtype).itemsize,
        dtype=dtype,
        quick=quick,
    )


def least_flops(n: int, d: int, k: int) -> float:
    """The cheapest known road: covariance, Gram (each with its eigenproblem), or products with X and X'."""
    return min(
        n * d * (d + 1) + 4 / 3 * d**3, n * d * (n + 1) + 4 / 3 * n**3, 4 * n * d * (k + EXTRA_PRODUCTS)
    )


def prepare(X: np.ndarray, k: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    n, d = X.shape
    too_dear = {
        "NumPy covariance": n * d * d + 9 * d**3,
        "SciPy eigh subset": n * d * d + 3 * d**3,
        "NumPy Gram": n * n * d + 9 * n**3 if n <= d else np.inf,
        "NumPy SVD": 20 * n * d * min(n, d),
        "scikit-learn full": 20 * n * d * min(n, d),
        "scikit-learn covariance_eigh": n * d * d + 9 * d**3,
        "scikit-learn arpack": 0 if k < min(n, d) else np.inf,
    }
    calls = {
        name: partial(fit, X, k) for name, fit in peers.fits().items() if too_dear.get(name, 0) <= AFFORDABLE
    }
    return calls, partial(errors, *reference(X, k))


def reference(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The centred data in float64 and its leading singular values without squaring: QR, then those of R."""
    centred = X.astype(np.float64)
    centred -= centred.mean(axis=0)
    centred -= centred.mean(axis=0)  # what the rounding of the first mean left
    tall = centred if len(centred) >= centred.shape[1] else centred.T
    return centred, np.linalg.svd(np.linalg.qr(tall, mode="r"), compute_uv=False)[:k]


def errors(centred: np.ndarray, singular: np.ndarray, model: object) -> dict[str, float]:
    """Largest relative error of a singular value, and largest |Xc'Xc v - sigma^2 v| / sigma_1^2."""
    components = np.asarray(model.components_, np.float64)
    found = np.asarray(model.singular_values_, np.float64)
    # A value at the rounding of the largest has no digits of its own to compare.
    alive = singular > len(components) * np.finfo(model.components_.dtype).eps * singular[0]
    values = np.abs(found - singular)[alive] / singular[alive]
    residual = (centred @ components.T).T @ centred - components * found[:, None] ** 2
    return {
        "sigma": float(values.max()),
        "residual": float(np.linalg.norm(residual, axis=1).max() / singular[0] ** 2),
    }
