"""Symmetric eigenproblems: every pair, or the k largest."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
import samples
import scipy.linalg
import scipy.sparse.linalg
from measure import OURS, Call, Row

WHOLE = (5, 10, 20, 50, 100, 200, 400, 784, 1500)
LEADING = ((100, 10), (784, 10), (784, 50), (2000, 10))
QUICK_UP_TO = 400


def rows() -> list[Row]:
    # Reduction to a tridiagonal, and its vectors transformed back.
    whole = [_row(f"eigh d={d}, all", d, None, 10 / 3 * d**3) for d in WHOLE]
    # The least known work for a few pairs: the products of an iteration, or the reduction to a tridiagonal.
    return whole + [
        _row(f"eigh d={d}, k={k}", d, k, min(2 * d * d * (k + 10), 4 / 3 * d**3)) for d, k in LEADING
    ]


def _row(name: str, d: int, k: int | None, flops: float) -> Row:
    return Row(
        name=name,
        group="eigh",
        prepare=partial(prepare, d, k),
        flops=flops,
        read=8 * d * d,
        quick=d <= QUICK_UP_TO,
    )


def prepare(d: int, k: int | None) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    A = np.cov(samples.decaying(2 * d, d), rowvar=False)
    if k is None:
        calls: dict[str, Call] = {
            OURS: lambda: prinax.eigh(A),
            "numpy.linalg.eigh": lambda: np.linalg.eigh(A),
            "scipy.linalg.eigh evr": lambda: scipy.linalg.eigh(A, check_finite=False),
            "scipy.linalg.eigh evd": lambda: scipy.linalg.eigh(A, driver="evd", check_finite=False),
        }
    else:
        calls = {
            OURS: lambda: prinax.eigh(A, k),
            "numpy.linalg.eigh": lambda: np.linalg.eigh(A),
            "scipy.linalg.eigh subset": lambda: scipy.linalg.eigh(
                A, subset_by_index=(d - k, d - 1), check_finite=False
            ),
            "scipy eigsh": lambda: scipy.sparse.linalg.eigsh(A, k, which="LA", v0=np.ones(d)),
        }
    return calls, partial(errors, A, k or d)


def errors(A: np.ndarray, k: int, pairs: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """Largest |A v - lambda v| / lambda_1 of the k leading pairs, and their departure from orthonormality."""
    values, vectors = pairs
    leading = np.argsort(values)[::-1][:k]
    values, vectors = values[leading], vectors[:, leading]
    residual = np.linalg.norm(A @ vectors - vectors * values, axis=0).max() / values[0]
    return {
        "residual": float(residual),
        "orthogonality": float(np.abs(vectors.T @ vectors - np.eye(k)).max()),
    }
